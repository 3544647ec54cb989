import { accessPage } from './agents/console/access.ts';
import { agentPage } from './agents/console/agent.ts';
import { agentAccessPage } from './agents/console/agent-access.ts';
import { agentComparePage } from './agents/console/agent-compare.ts';
import { agentHistoryPage } from './agents/console/agent-history.ts';
import { agentListPage } from './agents/console/agent-list.ts';
import { agentSettingsPage } from './agents/console/agent-settings.ts';
import { platformModelsPage } from './agents/console/platform-models.ts';
import { auditPage } from './audit/console/audit.ts';
import { auditHeadsPage } from './audit/console/audit-heads.ts';
import { eventPage } from './audit/console/event.ts';
import { eventListPage } from './audit/console/event-list.ts';
import { platformAuditPage } from './audit/console/platform-audit.ts';
import { findAnywherePage, findPage } from './autocomplete/console/find.ts';
import { agentCostPage } from './billing/console/agent-cost.ts';
import { costListPage } from './billing/console/cost-list.ts';
import { platformPlansPage } from './billing/console/platform-plans.ts';
import type { Page } from './console/page.ts';
import { credentialsPage } from './credentials/console/credentials.ts';
import { deliveryPage } from './deliveries/console/delivery.ts';
import { deliveryListPage } from './deliveries/console/delivery-list.ts';
import { deliveryProblemsPage } from './deliveries/console/delivery-problems.ts';
import { jobPage } from './deliveries/console/job.ts';
import { jobListPage } from './deliveries/console/job-list.ts';
import { guardrailsPage } from './guardrails/console/guardrails.ts';
import { apiKeysPage } from './identity/console/api-keys.ts';
import { mePage } from './identity/console/me.ts';
import { platformAccountsPage } from './identity/console/platform-accounts.ts';
import { platformUsersPage } from './identity/console/platform-users.ts';
import { agentIntegrationsPage } from './integrations/console/agent-integrations.ts';
import { integrationPage } from './integrations/console/integration.ts';
import { integrationListPage } from './integrations/console/integration-list.ts';
import { agentMemoryPage } from './memory/console/agent-memory.ts';
import { driftPage } from './operations/console/drift.ts';
import { overviewPage } from './operations/console/overview.ts';
import { platformPage } from './operations/console/platform.ts';
import { projectionPage } from './operations/console/projection.ts';
import { projectionListPage } from './operations/console/projection-list.ts';
import { rebuildPage } from './operations/console/rebuild.ts';
import { startPage } from './operations/console/start.ts';
import { agentRunnerPage } from './runners/console/agent-runner.ts';
import { agentSchedulesPage } from './schedule/console/agent-schedules.ts';
import { cronJobPage } from './schedule/console/cron-job.ts';
import { scheduleListPage } from './schedule/console/schedule-list.ts';
import { agentSessionsPage } from './sessions/console/agent-sessions.ts';
import { sessionPage } from './sessions/console/session.ts';
import { sessionListPage } from './sessions/console/session-list.ts';
import { agentSkillsPage } from './skills/console/agent-skills.ts';
import { skillPage } from './skills/console/skill.ts';
import { skillListPage } from './skills/console/skill-list.ts';
import { toolPage } from './skills/console/tool.ts';
import { memberPage } from './tenants/console/member.ts';
import { membersPage } from './tenants/console/members.ts';
import { platformTenantPage } from './tenants/console/platform-tenant.ts';
import { platformTenantsPage } from './tenants/console/platform-tenants.ts';

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
  skillPage,
  toolPage,
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
