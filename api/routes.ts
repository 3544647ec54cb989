import type { CodeHost } from '../commands/agents/code-host.ts';
import type { DatasetHost } from '../commands/benchmarks/dataset-location.ts';
import type { PaymentProvider } from '../commands/billing/payment-provider.ts';
import type { TestDatabase } from '../commands/credentials/database-credential.ts';
import type { OAuthClients } from '../commands/credentials/oauth-clients.ts';
import type { MailSettings } from '../commands/mail/send-mail.ts';
import type { RunnerBroker } from '../commands/runners/runner-broker.ts';
import type { CreateBrokerUser } from '../commands/runners/runner-credential.ts';
import type { ImportPorts } from '../commands/skills/import-skill.ts';
import type { ErasurePorts } from '../commands/tenants/erase-tenant.ts';
import type { ReadDelivery } from '../commands/webhooks/delivery.ts';
import type { ReadPreviews } from '../commands/webhooks/delivery-preview.ts';
import type { EvaluateTrial } from '../commands/webhooks/try-guardrails.ts';
import type { WebhookPorts } from '../commands/webhooks/webhook-ports.ts';
import { agentOperations } from './agents/agent.ts';
import { agentHistoryOperations } from './agents/agent-history.ts';
import { agentModelOperations } from './agents/agent-models.ts';
import { agentRoleOperations } from './agents/agent-roles.ts';
import { agentSettingsOperations } from './agents/agent-settings.ts';
import { assistantOperations } from './agents/assistant.ts';
import { cloneAgentOperations } from './agents/clone-agent.ts';
import { codeRefOperationsOf } from './agents/code-ref.ts';
import { effectiveAccessOperations } from './agents/effective-access.ts';
import { effectivePermissionOperations } from './agents/effective-permissions.ts';
import { favoriteAgentOperations } from './agents/favorite-agent.ts';
import { modelOperations } from './agents/model.ts';
import { modelHistoryOperations } from './agents/model-history.ts';
import { auditOperations } from './audit/audit-log.ts';
import { auditProofOperations } from './audit/audit-proof.ts';
import { eventOperations } from './audit/event-log.ts';
import { autocompleteOperations } from './autocomplete/autocomplete.ts';
import { benchmarkOperationsOf } from './benchmarks/benchmark.ts';
import { benchmarkRunOperationsOf } from './benchmarks/benchmark-run.ts';
import { agentCostOperations } from './billing/agent-costs.ts';
import { budgetOperations } from './billing/budget.ts';
import { budgetUsageOperations } from './billing/budget-usage.ts';
import { costBreakdownOperations } from './billing/cost-breakdown.ts';
import { paymentOperationsOf } from './billing/payments.ts';
import { planOperations } from './billing/plan.ts';
import { connectOperations } from './credentials/connect-provider.ts';
import { credentialRequestOperations } from './credentials/credential-requests.ts';
import { linkedIdentityOperations } from './credentials/linked-identities.ts';
import { findReadable } from './files/readable-file.ts';
import type { Operations } from './http/operation.ts';
import { allowedAccountOperations } from './identity/allowed-account.ts';
import { apiKeyOperations } from './identity/api-key.ts';
import { meOperations } from './identity/me.ts';
import { mySignInOperations } from './identity/my-sign-ins.ts';
import { userOperations } from './identity/user.ts';
import { mailboxOperationsOf } from './mail/mailbox.ts';
import { messageOperationsOf } from './mail/message.ts';
import { marketplaceOperationsOf } from './marketplace/listing.ts';
import { memoryOperations } from './memory/memory.ts';
import { healthOperations, type ReadHealth } from './operations/health.ts';
import { type ProjectionAdmin, projectionAdminOperations } from './operations/projection-admin.ts';
import { redactionOperations } from './redaction/redaction-patterns.ts';
import { agentRuntimeOperationsOf } from './runners/agent-runtime.ts';
import { runnerCredentialOperations } from './runners/runner-credential.ts';
import { runnerPresenceOperations } from './runners/runner-presence.ts';
import { blackoutOperations } from './schedule/blackout.ts';
import { cronJobOperations } from './schedule/cron-job.ts';
import { cronOccurrenceOperations } from './schedule/cron-occurrences.ts';
import { cronPreviewOperations } from './schedule/cron-preview.ts';
import { auditSessionOperations } from './sessions/audit-sessions.ts';
import { sessionOperations } from './sessions/session.ts';
import { agentSkillOperations } from './skills/agent-skills.ts';
import { skillOperations } from './skills/skill.ts';
import { skillHistoryOperations } from './skills/skill-history.ts';
import { slackConfigOperations } from './slack/slack-config.ts';
import { eraseTenantOperations } from './tenants/erase-tenant.ts';
import { invitationOperations } from './tenants/invitation.ts';
import { memberOperations } from './tenants/member.ts';
import { tenantOperations } from './tenants/tenant.ts';
import { tenantHistoryOperations } from './tenants/tenant-history.ts';
import { agentToolOperations } from './tools/agent-tools.ts';
import { toolOperations } from './tools/tool.ts';
import { toolHistoryOperations } from './tools/tool-history.ts';
import { agentIntegrationOperations } from './webhooks/agent-integrations.ts';
import { deliveryOperationsOf } from './webhooks/delivery.ts';
import { guardrailOperations } from './webhooks/guardrails.ts';
import { integrationOperations } from './webhooks/integration.ts';
import { replayOperations } from './webhooks/replay.ts';
import { skillWebhookOperations } from './webhooks/skill-webhook.ts';
import { testDeliveryOperationsOf } from './webhooks/test-delivery.ts';
import { tryGuardrailsOperationOf } from './webhooks/try-guardrails.ts';

/** The functions that the operations need from infra/, in addition to their context. */
export type OperationPorts = {
  readonly codeHost: CodeHost;
  readonly datasets: DatasetHost;
  readonly importPorts: ImportPorts;
  /** The payment provider; null if this installation takes no payments. */
  readonly payments: PaymentProvider | null;
  readonly testDatabase: TestDatabase;
  readonly oauth: OAuthClients;
  readonly publicUrl: string;
  readonly erasure: ErasurePorts;
  readonly createBrokerUser: CreateBrokerUser;
  readonly runnerBroker: RunnerBroker;
  readonly storedDelivery: ReadDelivery;
  readonly readPreviews: ReadPreviews;
  readonly evaluateTrial: EvaluateTrial;
  readonly webhookPorts: WebhookPorts;
  readonly projectionAdmin: ProjectionAdmin;
  readonly readHealth: ReadHealth;
  readonly mail: MailSettings;
};

/** Returns the operations of each area. The key of an area is its heading in the OpenAPI document. */
const areasOf = ({
  codeHost,
  datasets,
  payments,
  importPorts,
  testDatabase,
  oauth,
  publicUrl,
  erasure,
  createBrokerUser,
  runnerBroker,
  storedDelivery,
  readPreviews,
  evaluateTrial,
  webhookPorts,
  projectionAdmin,
  readHealth,
  mail,
}: OperationPorts) => ({
  Agents: {
    ...agentOperations,
    ...assistantOperations,
    ...cloneAgentOperations,
    ...favoriteAgentOperations,
    ...agentSettingsOperations,
    ...codeRefOperationsOf(codeHost),
    ...agentModelOperations,
    ...agentHistoryOperations,
  },
  Access: { ...agentRoleOperations, ...effectivePermissionOperations, ...effectiveAccessOperations },
  Skills: { ...skillOperations, ...skillHistoryOperations, ...agentSkillOperations, ...skillWebhookOperations },
  'Chat settings': slackConfigOperations,
  'Language models': { ...modelOperations, ...modelHistoryOperations },
  Tools: { ...toolOperations, ...toolHistoryOperations, ...agentToolOperations },
  'API keys': apiKeyOperations,
  'Webhooks in': {
    ...integrationOperations,
    ...agentIntegrationOperations,
    ...guardrailOperations,
    ...tryGuardrailsOperationOf({ readDelivery: storedDelivery, evaluate: evaluateTrial, clock: () => performance.now() }),
    ...deliveryOperationsOf(storedDelivery, readPreviews),
    ...testDeliveryOperationsOf(webhookPorts),
    ...replayOperations,
    ...redactionOperations,
  },
  Runners: {
    ...runnerCredentialOperations(createBrokerUser),
    ...runnerPresenceOperations(runnerBroker),
    ...agentRuntimeOperationsOf(codeHost, oauth),
  },
  Credentials: { ...credentialRequestOperations, ...linkedIdentityOperations(testDatabase), ...connectOperations(oauth, publicUrl) },
  Benchmarks: {
    ...benchmarkOperationsOf({ assertReadable: findReadable }),
    ...benchmarkRunOperationsOf(datasets),
  },
  Mail: { ...mailboxOperationsOf(mail), ...messageOperationsOf(mail, storedDelivery) },
  Memory: memoryOperations,
  Marketplace: marketplaceOperationsOf(importPorts),
  Autocomplete: autocompleteOperations,
  Sessions: { ...sessionOperations, ...auditSessionOperations },
  Schedules: { ...cronJobOperations, ...cronPreviewOperations, ...cronOccurrenceOperations, ...blackoutOperations },
  Tenants: {
    ...tenantOperations,
    ...eraseTenantOperations(erasure),
    ...tenantHistoryOperations,
    ...memberOperations,
    ...invitationOperations,
  },
  Billing: {
    ...budgetOperations,
    ...agentCostOperations,
    ...costBreakdownOperations,
    ...budgetUsageOperations,
    ...planOperations,
    ...paymentOperationsOf(payments),
  },
  Users: { ...meOperations, ...mySignInOperations, ...userOperations, ...allowedAccountOperations },
  Audit: { ...auditOperations, ...auditProofOperations, ...eventOperations },
  Operators: { ...healthOperations(readHealth), ...projectionAdminOperations(projectionAdmin) },
});

type Intersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (member: infer All) => void ? All : never;

type Areas = ReturnType<typeof areasOf>;

/** The types of all operations, by operation id. The console and clients check their calls against them. */
export type Rows = Intersection<Areas[keyof Areas]>;

/** Returns all operations by their operation ids. */
export const operationsOf = (ports: OperationPorts): Operations =>
  Object.fromEntries(
    Object.entries<Operations>(areasOf(ports)).flatMap(([area, operations]) =>
      Object.entries(operations).map(([name, row]) => [name, { ...row, area }]),
    ),
  );
