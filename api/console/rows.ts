import type { agentOperations } from '../agents/agent.ts';
import type { agentModelOperations } from '../agents/agent-models.ts';
import type { agentRoleOperations } from '../agents/agent-roles.ts';
import type { agentSettingsOperations } from '../agents/agent-settings.ts';
import type { cloneAgentOperations } from '../agents/clone-agent.ts';
import type { codeRefOperationsOf } from '../agents/code-ref.ts';
import type { effectiveAccessOperations } from '../agents/effective-access.ts';
import type { effectivePermissionOperations } from '../agents/effective-permissions.ts';
import type { favoriteAgentOperations } from '../agents/favorite-agent.ts';
import type { modelOperations } from '../agents/model.ts';
import type { auditOperations } from '../audit/audit-log.ts';
import type { auditProofOperations } from '../audit/audit-proof.ts';
import type { eventOperations } from '../audit/event-log.ts';
import type { autocompleteOperations } from '../autocomplete/autocomplete.ts';
import type { agentCostOperations } from '../billing/agent-costs.ts';
import type { budgetUsageOperations } from '../billing/budget-usage.ts';
import type { costBreakdownOperations } from '../billing/cost-breakdown.ts';
import type { planOperations } from '../billing/plan.ts';
import type { DiffQuery, HistoryEntries, ResourceDiff } from '../http/history-schemas.ts';
import type { TypedOperation } from '../http/operation.ts';
import type { allowedAccountOperations } from '../identity/allowed-account.ts';
import type { apiKeyOperations } from '../identity/api-key.ts';
import type { meOperations } from '../identity/me.ts';
import type { mySignInOperations } from '../identity/my-sign-ins.ts';
import type { userOperations } from '../identity/user.ts';
import type { healthOperations } from '../operations/health.ts';
import type { projectionAdminOperations } from '../operations/projection-admin.ts';
import type { redactionOperations } from '../redaction/redaction-patterns.ts';
import type { runnerPresenceOperations } from '../runners/runner-presence.ts';
import type { blackoutOperations } from '../schedule/blackout.ts';
import type { cronJobOperations } from '../schedule/cron-job.ts';
import type { cronOccurrenceOperations } from '../schedule/cron-occurrences.ts';
import type { cronPreviewOperations } from '../schedule/cron-preview.ts';
import type { auditSessionOperations } from '../sessions/audit-sessions.ts';
import type { sessionOperations } from '../sessions/session.ts';
import type { agentSkillOperations } from '../skills/agent-skills.ts';
import type { skillOperations } from '../skills/skill.ts';
import type { invitationOperations } from '../tenants/invitation.ts';
import type { memberOperations } from '../tenants/member.ts';
import type { tenantOperations } from '../tenants/tenant.ts';
import type { agentToolOperations } from '../tools/agent-tools.ts';
import type { toolOperations } from '../tools/tool.ts';
import type { agentIntegrationOperations } from '../webhooks/agent-integrations.ts';
import type { deliveryOperationsOf } from '../webhooks/delivery.ts';
import type { guardrailOperations } from '../webhooks/guardrails.ts';
import type { integrationOperations } from '../webhooks/integration.ts';
import type { replayOperations } from '../webhooks/replay.ts';
import type { testDeliveryOperationsOf } from '../webhooks/test-delivery.ts';
import type { tryGuardrailsOperationOf } from '../webhooks/try-guardrails.ts';

type History<Path extends string> = TypedOperation<Path, undefined, undefined, typeof HistoryEntries>;

/**
 * The operations that read histories. Their ids are composed at run time from the names of the resources, so their
 * types are declared here.
 */
type HistoryRows = {
  readonly diffAgent: TypedOperation<'/tenant/:tenant_id/agents/:agent_id/diff', typeof DiffQuery, undefined, typeof ResourceDiff>;
  readonly readAgentHistory: History<'/tenant/:tenant_id/agents/:agent_id/history'>;
};

/** The operations that the pages of the console call, by operation id. */
export type Rows = typeof agentOperations &
  HistoryRows &
  typeof agentModelOperations &
  typeof agentSettingsOperations &
  typeof effectiveAccessOperations &
  typeof cloneAgentOperations &
  typeof favoriteAgentOperations &
  typeof modelOperations &
  typeof agentCostOperations &
  typeof budgetUsageOperations &
  typeof costBreakdownOperations &
  typeof apiKeyOperations &
  typeof agentSkillOperations &
  typeof skillOperations &
  typeof agentToolOperations &
  typeof toolOperations &
  typeof effectivePermissionOperations &
  typeof agentRoleOperations &
  typeof invitationOperations &
  typeof memberOperations &
  typeof tenantOperations &
  typeof auditOperations &
  typeof auditProofOperations &
  typeof eventOperations &
  typeof meOperations &
  typeof autocompleteOperations &
  typeof blackoutOperations &
  typeof cronJobOperations &
  typeof cronOccurrenceOperations &
  typeof cronPreviewOperations &
  typeof userOperations &
  typeof allowedAccountOperations &
  typeof planOperations &
  ReturnType<typeof healthOperations> &
  typeof mySignInOperations &
  typeof sessionOperations &
  typeof auditSessionOperations &
  typeof integrationOperations &
  typeof agentIntegrationOperations &
  typeof guardrailOperations &
  typeof redactionOperations &
  ReturnType<typeof tryGuardrailsOperationOf> &
  typeof replayOperations &
  ReturnType<typeof testDeliveryOperationsOf> &
  ReturnType<typeof codeRefOperationsOf> &
  ReturnType<typeof projectionAdminOperations> &
  ReturnType<typeof runnerPresenceOperations> &
  ReturnType<typeof deliveryOperationsOf>;
