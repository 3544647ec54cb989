import { agentAudit } from './agents/agent.audit.ts';
import { failoverGraphAudit } from './agents/failover-graph.audit.ts';
import { modelAudit } from './agents/model.audit.ts';
import { accessRefusalAudit } from './audit/access-refusal.audit.ts';
import { auditExportAudit } from './audit/audit-export.audit.ts';
import { auditKeyAudit } from './audit/audit-key.audit.ts';
import { disclosureAudit } from './audit/disclosure.audit.ts';
import { leafRuleAudit } from './audit/leaf-rule.audit.ts';
import { superAdminReadAudit } from './audit/super-admin-read.audit.ts';
import type { AuditRecord } from './audit-record.ts';
import { benchmarkAudit } from './benchmarks/benchmark.audit.ts';
import { benchmarkRunAudit } from './benchmarks/benchmark-run.audit.ts';
import { billingRecordAudit } from './billing/billing-record.audit.ts';
import { budgetHourAudit } from './billing/budget-hour.audit.ts';
import { planAudit } from './billing/plan.audit.ts';
import { sellerAudit } from './billing/seller.audit.ts';
import { credentialRequestAudit } from './credentials/credential-request.audit.ts';
import { identityLinkAudit } from './credentials/identity-link.audit.ts';
import { linkedIdentityAudit } from './credentials/linked-identity.audit.ts';
import { deliveryAudit } from './deliveries/delivery.audit.ts';
import { rejectionAudit } from './deliveries/rejection.audit.ts';
import { replayGuardAudit } from './deliveries/replay-guard.audit.ts';
import { replayJobAudit } from './deliveries/replay-job.audit.ts';
import { fileScanAudit } from './files/file-scan.audit.ts';
import { pictureAudit } from './files/picture.audit.ts';
import { tenantGuardrailsAudit } from './guardrails/tenant-guardrails.audit.ts';
import { allowedAccountAudit } from './identity/allowed-account.audit.ts';
import { apiKeyAudit } from './identity/api-key.audit.ts';
import { signInAudit } from './identity/sign-in.audit.ts';
import { signInLinkAudit } from './identity/sign-in-link.audit.ts';
import { userAudit } from './identity/user.audit.ts';
import { integrationAudit } from './integrations/integration.audit.ts';
import { attachmentAudit } from './mail/attachment.audit.ts';
import { mailAudit } from './mail/mail.audit.ts';
import { mailboxAudit } from './mail/mailbox.audit.ts';
import { listingAudit } from './marketplace/listing.audit.ts';
import { agentMemoryAudit } from './memory/agent-memory.audit.ts';
import { memoryImportAudit } from './memory/memory-import.audit.ts';
import { keyRotationAudit } from './operations/key-rotation.audit.ts';
import { platformStartAudit } from './operations/platform-start.audit.ts';
import { projectionMaintenanceAudit } from './operations/projection-maintenance.audit.ts';
import { redactionPatternsAudit } from './redaction/redaction-patterns.audit.ts';
import { acknowledgementAudit } from './runners/acknowledgement.audit.ts';
import { attemptReportAudit } from './runners/attempt-report.audit.ts';
import { runnerCredentialAudit } from './runners/runner-credential.audit.ts';
import { blackoutAudit } from './schedule/blackout.audit.ts';
import { cronJobAudit } from './schedule/cron-job.audit.ts';
import { cronRunAudit } from './schedule/cron-run.audit.ts';
import { sessionAudit } from './sessions/session.audit.ts';
import { skillRefusalAudit } from './skill-calls/skill-refusal.audit.ts';
import { skillWebhookAudit } from './skill-calls/skill-webhook.audit.ts';
import { skillAudit } from './skills/skill.audit.ts';
import { slackConfigAudit } from './slack/slack-config.audit.ts';
import { tenantAudit } from './tenants/tenant.audit.ts';
import { connectorAudit } from './tools/connector.audit.ts';
import { toolAudit } from './tools/tool.audit.ts';

/** The records of all aggregates whose events the audit log shows. Aggregates can share an event type, and its record. */
export const recordsOfAggregates: readonly Readonly<Record<string, AuditRecord>>[] = [
  agentAudit,
  failoverGraphAudit,
  modelAudit,
  accessRefusalAudit,
  auditExportAudit,
  auditKeyAudit,
  disclosureAudit,
  leafRuleAudit,
  superAdminReadAudit,
  benchmarkRunAudit,
  benchmarkAudit,
  billingRecordAudit,
  budgetHourAudit,
  planAudit,
  sellerAudit,
  credentialRequestAudit,
  identityLinkAudit,
  linkedIdentityAudit,
  fileScanAudit,
  pictureAudit,
  allowedAccountAudit,
  apiKeyAudit,
  signInLinkAudit,
  signInAudit,
  userAudit,
  attachmentAudit,
  mailAudit,
  mailboxAudit,
  listingAudit,
  agentMemoryAudit,
  memoryImportAudit,
  keyRotationAudit,
  platformStartAudit,
  projectionMaintenanceAudit,
  redactionPatternsAudit,
  acknowledgementAudit,
  attemptReportAudit,
  runnerCredentialAudit,
  blackoutAudit,
  cronJobAudit,
  cronRunAudit,
  sessionAudit,
  skillAudit,
  slackConfigAudit,
  tenantAudit,
  connectorAudit,
  toolAudit,
  deliveryAudit,
  integrationAudit,
  rejectionAudit,
  replayGuardAudit,
  replayJobAudit,
  skillRefusalAudit,
  skillWebhookAudit,
  tenantGuardrailsAudit,
];

/** Maps each event type that the audit log shows to its record. */
export const AUDIT_RECORDS: ReadonlyMap<string, AuditRecord> = new Map(recordsOfAggregates.flatMap((records) => Object.entries(records)));
