import { agentAudit } from './agents/agent.audit.ts';
import { agents } from './agents/agent.ts';
import { failoverGraphAudit } from './agents/failover-graph.audit.ts';
import { modelAudit } from './agents/model.audit.ts';
import { models } from './agents/model.ts';
import { accessRefusalAudit } from './audit/access-refusal.audit.ts';
import { auditExportAudit } from './audit/audit-export.audit.ts';
import { auditKeyAudit } from './audit/audit-key.audit.ts';
import { disclosureAudit } from './audit/disclosure.audit.ts';
import { leafRuleAudit } from './audit/leaf-rule.audit.ts';
import { superAdminReadAudit } from './audit/super-admin-read.audit.ts';
import type { AuditCategory, AuditRecord } from './audit-record.ts';
import { benchmarkAudit } from './benchmarks/benchmark.audit.ts';
import { benchmarks } from './benchmarks/benchmark.ts';
import { benchmarkRunAudit } from './benchmarks/benchmark-run.audit.ts';
import { benchmarkRuns } from './benchmarks/benchmark-run.ts';
import { billingRecordAudit } from './billing/billing-record.audit.ts';
import { budgetHourAudit } from './billing/budget-hour.audit.ts';
import { costs } from './billing/cost.ts';
import { planAudit } from './billing/plan.audit.ts';
import { plans } from './billing/plan.ts';
import { sellerAudit } from './billing/seller.audit.ts';
import { credentialRequestAudit } from './credentials/credential-request.audit.ts';
import { credentialRequests } from './credentials/credential-request.ts';
import { identityLinkAudit } from './credentials/identity-link.audit.ts';
import { linkedIdentityAudit } from './credentials/linked-identity.audit.ts';
import { linkedIdentities } from './credentials/linked-identity.ts';
import { deliveryAudit } from './deliveries/delivery.audit.ts';
import { deliveries } from './deliveries/delivery.ts';
import { rejectionAudit } from './deliveries/rejection.audit.ts';
import { replayGuardAudit } from './deliveries/replay-guard.audit.ts';
import { replayJobAudit } from './deliveries/replay-job.audit.ts';
import { replays } from './deliveries/replay-job.ts';
import { fileScanAudit } from './files/file-scan.audit.ts';
import { pictureAudit } from './files/picture.audit.ts';
import { tenantGuardrailsAudit } from './guardrails/tenant-guardrails.audit.ts';
import { allowedAccountAudit } from './identity/allowed-account.audit.ts';
import { allowedAccounts } from './identity/allowed-account.ts';
import { apiKeyAudit } from './identity/api-key.audit.ts';
import { apikeys } from './identity/api-key.ts';
import { signInAudit } from './identity/sign-in.audit.ts';
import { signIns } from './identity/sign-in.ts';
import { signInLinkAudit } from './identity/sign-in-link.audit.ts';
import { userAudit } from './identity/user.audit.ts';
import { users } from './identity/user.ts';
import { integrationAudit } from './integrations/integration.audit.ts';
import { integrations } from './integrations/integration.ts';
import { attachmentAudit } from './mail/attachment.audit.ts';
import { mailAudit } from './mail/mail.audit.ts';
import { mailboxAudit } from './mail/mailbox.audit.ts';
import { mailboxes } from './mail/mailbox.ts';
import { messages } from './mail/message.ts';
import { listingAudit } from './marketplace/listing.audit.ts';
import { listings } from './marketplace/listing.ts';
import { agentMemoryAudit } from './memory/agent-memory.audit.ts';
import { memoryImportAudit } from './memory/memory-import.audit.ts';
import { memoryImports } from './memory/memory-import.ts';
import { keyRotationAudit } from './operations/key-rotation.audit.ts';
import { platformStartAudit } from './operations/platform-start.audit.ts';
import { projectionMaintenanceAudit } from './operations/projection-maintenance.audit.ts';
import type { AnyProjection } from './projection.ts';
import { redactionPatternsAudit } from './redaction/redaction-patterns.audit.ts';
import { acknowledgementAudit } from './runners/acknowledgement.audit.ts';
import { attemptReportAudit } from './runners/attempt-report.audit.ts';
import { runnerCredentialAudit } from './runners/runner-credential.audit.ts';
import { runnerCredentials } from './runners/runner-credential.ts';
import { blackoutAudit } from './schedule/blackout.audit.ts';
import { blackouts } from './schedule/blackout.ts';
import { cronJobAudit } from './schedule/cron-job.audit.ts';
import { cronJobs } from './schedule/cron-job.ts';
import { cronRunAudit } from './schedule/cron-run.audit.ts';
import { sessionAudit } from './sessions/session.audit.ts';
import { sessions } from './sessions/session.ts';
import { invocations } from './skill-calls/invocation.ts';
import { skillRefusalAudit } from './skill-calls/skill-refusal.audit.ts';
import { skillWebhookAudit } from './skill-calls/skill-webhook.audit.ts';
import { skillAudit } from './skills/skill.audit.ts';
import { skills } from './skills/skill.ts';
import { slackConfigAudit } from './slack/slack-config.audit.ts';
import { tenantAudit } from './tenants/tenant.audit.ts';
import { tenants } from './tenants/tenant.ts';
import { connectorAudit } from './tools/connector.audit.ts';
import { toolAudit } from './tools/tool.audit.ts';
import { tools } from './tools/tool.ts';

export type AreaPart = {
  readonly projections: readonly AnyProjection[];
  readonly audit: readonly Readonly<Record<string, AuditRecord>>[];
  /** The prefixes of its actions in the audit log, by category. An action belongs to the category of its longest prefix. */
  readonly actions: Readonly<Partial<Record<AuditCategory, readonly string[]>>>;
};

/** In the order in which operators see the projections, so an area can have several rows. registry.ts adds those of the audit log. */
export const areas = [
  {
    projections: [agents],
    audit: [agentAudit, failoverGraphAudit],
    actions: {
      agents: ['agent.', 'failover.'],
      access: ['access.', 'agent.access_', 'agent.admin_only_', 'agent.ownership_', 'agent.role_'],
      secrets: ['agent.credential_', 'agent.skill_config_'],
      money: ['agent.budget_'],
    },
  },
  { projections: [allowedAccounts], audit: [allowedAccountAudit], actions: { access: ['account.'] } },
  { projections: [apikeys], audit: [apiKeyAudit], actions: { secrets: ['api_key.'] } },
  {
    projections: [],
    audit: [accessRefusalAudit, auditExportAudit, auditKeyAudit, disclosureAudit, leafRuleAudit, superAdminReadAudit],
    actions: { agents: ['runtime.'], access: ['audit.', 'super_admin.'], secrets: ['skill_config.'] },
  },
  {
    projections: [benchmarkRuns, benchmarks],
    audit: [benchmarkRunAudit, benchmarkAudit],
    actions: { agents: ['benchmark.'], deliveries: ['benchmark.run_triggered'] },
  },
  { projections: [blackouts], audit: [blackoutAudit], actions: { schedules: ['blackout.'] } },
  { projections: [credentialRequests], audit: [credentialRequestAudit], actions: { secrets: ['credential.'] } },
  {
    projections: [costs],
    audit: [billingRecordAudit, budgetHourAudit, sellerAudit],
    actions: { money: ['billing.', 'budget.', 'checkout.', 'payment.', 'seller.'] },
  },
  {
    projections: [cronJobs],
    audit: [cronJobAudit, cronRunAudit],
    actions: { schedules: ['cron.'], secrets: ['cron.job_headers_'], deliveries: ['cron.job_triggered'] },
  },
  {
    projections: [deliveries],
    audit: [deliveryAudit, rejectionAudit, replayGuardAudit],
    actions: { deliveries: ['deliveries.', 'delivery.', 'held.', 'webhook.'] },
  },
  {
    projections: [integrations],
    audit: [integrationAudit],
    actions: { integrations: ['integration.'], secrets: ['integration.previous_secret_', 'integration.secret_'] },
  },
  {
    projections: [invocations],
    audit: [skillWebhookAudit, skillRefusalAudit],
    actions: {
      integrations: ['skill_webhook.'],
      secrets: ['skill_webhook.token_'],
      deliveries: ['skill_webhook.blocked', 'skill_webhook.called', 'skill_webhook.held', 'skill_webhook.refus'],
    },
  },
  { projections: [linkedIdentities], audit: [identityLinkAudit, linkedIdentityAudit], actions: { secrets: ['database.', 'identity.'] } },
  { projections: [listings], audit: [listingAudit], actions: { agents: ['listing.'] } },
  { projections: [mailboxes], audit: [mailboxAudit], actions: { integrations: ['mailbox.'] } },
  { projections: [memoryImports], audit: [agentMemoryAudit, memoryImportAudit], actions: { agents: ['memory.'] } },
  { projections: [messages], audit: [attachmentAudit, mailAudit], actions: { deliveries: ['mail.'] } },
  { projections: [models], audit: [modelAudit], actions: { agents: ['model.'] } },
  { projections: [plans], audit: [planAudit], actions: { money: ['plan.'] } },
  { projections: [replays], audit: [replayJobAudit], actions: {} },
  {
    projections: [runnerCredentials],
    audit: [acknowledgementAudit, attemptReportAudit, runnerCredentialAudit],
    actions: { secrets: ['runner_credential.'] },
  },
  {
    projections: [sessions],
    audit: [sessionAudit],
    actions: { agents: ['approval.', 'message.', 'session.', 'usage.'], deliveries: ['session.messages_settled'] },
  },
  { projections: [signIns], audit: [signInAudit, signInLinkAudit], actions: { access: ['sign.', 'signed.'] } },
  { projections: [skills], audit: [skillAudit], actions: { agents: ['skill.'] } },
  { projections: [tenants], audit: [tenantAudit], actions: { members: ['member.'], money: ['tenant.plan_'] } },
  { projections: [tools], audit: [toolAudit, connectorAudit], actions: { agents: ['tool.'], integrations: ['connector.'] } },
  { projections: [users], audit: [userAudit], actions: { access: ['user.'] } },
  { projections: [], audit: [fileScanAudit, pictureAudit], actions: { agents: ['file.'] } },
  { projections: [], audit: [tenantGuardrailsAudit], actions: { integrations: ['guardrails.'] } },
  {
    projections: [],
    audit: [keyRotationAudit, platformStartAudit, projectionMaintenanceAudit],
    actions: { secrets: ['data_key.', 'master_key.'] },
  },
  { projections: [], audit: [redactionPatternsAudit], actions: { integrations: ['redaction.'] } },
  { projections: [], audit: [slackConfigAudit], actions: { integrations: ['agent.slack_config_'] } },
] as const satisfies readonly AreaPart[];
