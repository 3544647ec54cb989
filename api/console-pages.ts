import type { Page } from './console/page.ts';
import { accessPage } from './console/pages/access.ts';
import { agentPage } from './console/pages/agent.ts';
import { agentAccessPage } from './console/pages/agent-access.ts';
import { agentComparePage } from './console/pages/agent-compare.ts';
import { agentCostPage } from './console/pages/agent-cost.ts';
import { agentHistoryPage } from './console/pages/agent-history.ts';
import { agentIntegrationsPage } from './console/pages/agent-integrations.ts';
import { agentListPage } from './console/pages/agent-list.ts';
import { agentMemoryPage } from './console/pages/agent-memory.ts';
import { agentRunnerPage } from './console/pages/agent-runner.ts';
import { agentSchedulesPage } from './console/pages/agent-schedules.ts';
import { agentSessionsPage } from './console/pages/agent-sessions.ts';
import { agentSettingsPage } from './console/pages/agent-settings.ts';
import { agentSkillsPage } from './console/pages/agent-skills.ts';
import { apiKeysPage } from './console/pages/api-keys.ts';
import { auditPage } from './console/pages/audit.ts';
import { auditHeadsPage } from './console/pages/audit-heads.ts';
import { costListPage } from './console/pages/cost-list.ts';
import { credentialsPage } from './console/pages/credentials.ts';
import { cronJobPage } from './console/pages/cron-job.ts';
import { deliveryPage } from './console/pages/delivery.ts';
import { deliveryListPage } from './console/pages/delivery-list.ts';
import { deliveryProblemsPage } from './console/pages/delivery-problems.ts';
import { driftPage } from './console/pages/drift.ts';
import { eventPage } from './console/pages/event.ts';
import { eventListPage } from './console/pages/event-list.ts';
import { findAnywherePage, findPage } from './console/pages/find.ts';
import { guardrailsPage } from './console/pages/guardrails.ts';
import { integrationPage } from './console/pages/integration.ts';
import { integrationListPage } from './console/pages/integration-list.ts';
import { jobPage } from './console/pages/job.ts';
import { jobListPage } from './console/pages/job-list.ts';
import { mePage } from './console/pages/me.ts';
import { memberPage } from './console/pages/member.ts';
import { membersPage } from './console/pages/members.ts';
import { overviewPage } from './console/pages/overview.ts';
import { platformPage } from './console/pages/platform.ts';
import { platformAccountsPage } from './console/pages/platform-accounts.ts';
import { platformAuditPage } from './console/pages/platform-audit.ts';
import { platformModelsPage } from './console/pages/platform-models.ts';
import { platformPlansPage } from './console/pages/platform-plans.ts';
import { platformTenantPage } from './console/pages/platform-tenant.ts';
import { platformTenantsPage } from './console/pages/platform-tenants.ts';
import { platformUsersPage } from './console/pages/platform-users.ts';
import { projectionPage } from './console/pages/projection.ts';
import { projectionListPage } from './console/pages/projection-list.ts';
import { rebuildPage } from './console/pages/rebuild.ts';
import { scheduleListPage } from './console/pages/schedule-list.ts';
import { sessionPage } from './console/pages/session.ts';
import { sessionListPage } from './console/pages/session-list.ts';
import { skillListPage } from './console/pages/skill-list.ts';
import { startPage } from './console/pages/start.ts';

/** The pages of the console. */
export const consolePages: readonly Page[] = [
  overviewPage,
  startPage,
  deliveryListPage,
  deliveryProblemsPage,
  deliveryPage,
  jobListPage,
  jobPage,
  integrationListPage,
  integrationPage,
  guardrailsPage,
  agentListPage,
  agentPage,
  auditPage,
  auditHeadsPage,
  eventListPage,
  eventPage,
  agentMemoryPage,
  agentRunnerPage,
  agentSkillsPage,
  skillListPage,
  agentComparePage,
  agentCostPage,
  agentHistoryPage,
  agentIntegrationsPage,
  agentSessionsPage,
  agentSettingsPage,
  agentSchedulesPage,
  cronJobPage,
  apiKeysPage,
  scheduleListPage,
  sessionListPage,
  sessionPage,
  accessPage,
  agentAccessPage,
  membersPage,
  memberPage,
  costListPage,
  credentialsPage,
  projectionListPage,
  projectionPage,
  rebuildPage,
  driftPage,
  platformPage,
  platformTenantsPage,
  platformTenantPage,
  platformUsersPage,
  platformModelsPage,
  platformPlansPage,
  platformAccountsPage,
  platformAuditPage,
  mePage,
  findPage,
  findAnywherePage,
];
