import type { Page } from './console/page.ts';
import { accessPage } from './console/pages/access.ts';
import { agentPage } from './console/pages/agent.ts';
import { agentAccessPage } from './console/pages/agent-access.ts';
import { agentComparePage } from './console/pages/agent-compare.ts';
import { agentCostPage } from './console/pages/agent-cost.ts';
import { agentHistoryPage } from './console/pages/agent-history.ts';
import { agentListPage } from './console/pages/agent-list.ts';
import { agentRunnerPage } from './console/pages/agent-runner.ts';
import { agentSettingsPage } from './console/pages/agent-settings.ts';
import { agentSkillsPage } from './console/pages/agent-skills.ts';
import { apiKeysPage } from './console/pages/api-keys.ts';
import { auditPage } from './console/pages/audit.ts';
import { auditHeadsPage } from './console/pages/audit-heads.ts';
import { costListPage } from './console/pages/cost-list.ts';
import { deliveryPage } from './console/pages/delivery.ts';
import { deliveryListPage } from './console/pages/delivery-list.ts';
import { deliveryProblemsPage } from './console/pages/delivery-problems.ts';
import { eventPage } from './console/pages/event.ts';
import { eventListPage } from './console/pages/event-list.ts';
import { integrationPage } from './console/pages/integration.ts';
import { integrationListPage } from './console/pages/integration-list.ts';
import { membersPage } from './console/pages/members.ts';
import { overviewPage } from './console/pages/overview.ts';
import { sessionPage } from './console/pages/session.ts';
import { sessionListPage } from './console/pages/session-list.ts';
import { startPage } from './console/pages/start.ts';

/** The pages of the console. */
export const consolePages: readonly Page[] = [
  overviewPage,
  startPage,
  deliveryListPage,
  deliveryProblemsPage,
  deliveryPage,
  integrationListPage,
  integrationPage,
  agentListPage,
  agentPage,
  auditPage,
  auditHeadsPage,
  eventListPage,
  eventPage,
  agentRunnerPage,
  agentSkillsPage,
  agentComparePage,
  agentCostPage,
  agentHistoryPage,
  agentSettingsPage,
  apiKeysPage,
  sessionListPage,
  sessionPage,
  accessPage,
  agentAccessPage,
  membersPage,
  costListPage,
];
