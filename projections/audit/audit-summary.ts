import type { Recorded } from '../../domain/event.ts';
import type { Row } from '../projection.ts';
import { actionOf } from './audit-entry.ts';

/** The names that a summary contains, in quotation marks where they need them. */
export type SummaryNames = {
  readonly actor: string;
  readonly resource: string;
  readonly person: string;
  readonly agent: string;
  readonly skill: string;
};

/**
 * Maps event types to summaries. A summary is the rest of a sentence that begins with the actor. In braces, it contains
 * a name of `SummaryNames`, the word `fields` (for the names of the event's fields), or a field of the event.
 */
export const SUMMARIES: Readonly<Record<string, string>> = {
  AccessRefusalsCounted: 'counted {count} further refused requests of one caller',
  AccessRefused: 'was refused {method} {path}',
  AccountAllowed: 'allowed the account {resource} to sign in',
  AccountDisallowed: 'no longer allows the account {resource} to sign in',
  AgentAccessGranted: 'granted {person} the access {role} to the agent {resource}',
  AgentAccessRevoked: 'revoked the access of {person} to the agent {resource}',
  AgentActivated: 'activated the agent {resource}',
  AgentAdminOnlyChanged: 'changed whether only admins see the agent {resource}',
  AgentBudgetChanged: 'changed the budget of the agent {resource}',
  AgentCloned: 'created the agent {resource} as a copy of the agent {source_id}',
  AgentCodeRefPinned: 'pinned the agent {resource} to {code_ref}',
  AgentCreated: 'created the agent {resource}',
  AgentDeactivated: 'deactivated the agent {resource}',
  AgentDeleted: 'deleted the agent {resource}',
  AgentFavorited: 'marked the agent {agent} as a favorite',
  AgentModelChainReordered: 'changed the model chain of the agent {resource}',
  AgentModelGranted: 'added a model to the chain of the agent {resource}',
  AgentModelRevoked: 'removed a model from the chain of the agent {resource}',
  AgentOwnershipTransferred: 'made {person} the owner of the agent {resource}',
  AgentRepoLinked: 'changed the repository of the agent {resource}',
  AgentRestored: 'restored the agent {resource}',
  AgentRoleAssigned: 'gave {person} the role {role} on the agent {resource}',
  AgentRolePermissionsChanged: 'changed what the roles on agents allow',
  AgentRoleRevoked: 'revoked the role of {person} on the agent {resource}',
  AgentSkillAuthoringChanged: 'changed whether the agent {resource} may author skills',
  AgentSkillConfigCleared: 'cleared the configuration of the skill {skill} of the agent {resource}',
  AgentSkillConfigReplaced: 'replaced the configuration of the skill {skill} of the agent {resource}',
  AgentSkillConfigResealed: 'encrypted the configuration of the skill {skill} of the agent {resource} with a new data key',
  AgentSkillGranted: 'gave the skill {skill} to the agent {resource}',
  AgentSkillPermissionsReplaced: 'replaced the permissions of the agent {resource} on skills',
  AgentSkillRevoked: 'took the skill {skill} from the agent {resource}',
  AgentSkillVisibilityScopeChanged: 'changed who sees the skills that the agent {resource} writes',
  AgentSlackConfigChanged: 'changed the Slack settings of the agent {resource}',
  AgentSlugReleased: 'released the slug of the deleted agent {resource}',
  AgentToolGranted: 'granted the agent {resource} a tool',
  AgentToolRevoked: 'revoked a tool from the agent {resource}',
  AgentUnfavorited: 'removed the agent {agent} from their favorites',
  AgentUpdated: 'changed {fields} of the agent {resource}',
  ApiKeyCreated: 'created the API key {resource}',
  ApiKeyRevoked: 'revoked the API key {resource}',
  ApiKeyUsed: 'used the API key {resource}',
  AuditExported: 'exported the audit log as {format}',
  AuditKeyCreated: 'created the key {resource}, which signs the heads of the audit trees',
  AuditKeyResealed: 'encrypted the audit key {key_id} with a new data key',
  AuditLeafRuleChanged: 'started the audit tree of the tenant again after {size} entries: {reason}',
  BenchmarkCreated: 'added the benchmark {resource} to the catalogue',
  BenchmarkRetired: 'removed the benchmark {resource} from the catalogue',
  BenchmarkRunFinished: 'finished a benchmark run of the agent {agent}: {status}',
  BenchmarkRunQueued: 'queued a run of the agent {agent} on the benchmark {benchmark}',
  BenchmarkRunTriggered: 'sent a benchmark run to the agent {agent}',
  BenchmarkTaskScored: 'recorded the result of the task {task_id} of a benchmark run of the agent {agent}',
  BenchmarkUpdated: 'changed {fields} of the benchmark {resource}',
  BillingPortalOpened: 'opened the billing portal of the payment provider',
  BlackoutChanged: 'changed {fields} of the blackout {resource}',
  BlackoutDeclared: 'declared the blackout {resource}',
  BlackoutLifted: 'lifted the blackout {resource}',
  BrandFaviconChanged: 'changed the favicon of the tenant',
  BrandLogoChanged: 'changed the logo of the tenant',
  CheckoutStarted: 'started a checkout of the price {price_id}',
  BudgetRefused: 'was refused a part of the hourly budget of the agent {agent}',
  BudgetReserved: 'reserved a part of the hourly budget of the agent {agent}',
  BudgetSettled: 'settled a reservation of the hourly budget of the agent {agent}',
  BudgetThresholdReached: 'reported that {percent} % of the hourly budget of the agent {agent} are spent or reserved',
  BudgetUsageCounted: 'counted the costs of sessions against the hourly budget of the agent {agent}',
  ConnectorToolsSynced: 'synced the tools of the connector {connector}',
  CredentialRequested: 'asked for the credential {config_key} of the skill {skill}',
  CredentialSubmitted: 'submitted the credential {config_key} of the skill {skill}',
  CronAttemptFailed: 'failed an attempt of a run of the cron job {job_id}',
  CronExhausted: 'failed the last attempt of a run of the cron job {job_id}',
  CronFired: 'fired the cron job {job_id}',
  CronJobCreated: 'created the cron job {resource}',
  CronJobDeleted: 'deleted the cron job {resource}',
  CronJobHeadersResealed: 'encrypted the secret headers of the cron job {resource} with a new data key',
  CronJobPaused: 'paused the cron job {resource}',
  CronJobResumed: 'resumed the cron job {resource}',
  CronJobUpdated: 'changed {fields} of the cron job {resource}',
  CronJobTriggered: 'called the agent {agent} for a cron job',
  CronMessageSent: 'sent a message for a run of the cron job {job_id}',
  CronMissed: 'missed an occurrence of the cron job {job_id}',
  CronOccurrenceSkipped: 'skipped an occurrence of the cron job {job_id}',
  CronRunRequested: 'requested a run of the cron job {job_id}',
  CronSucceeded: 'completed a run of the cron job {job_id}',
  CronSuppressed: 'suppressed an occurrence of the cron job {job_id}: {reason}',
  DataKeyRotationCompleted: 'replaced the data key of the tenant {tenant_id} by {kid}',
  DataKeyRotationStarted: 'started to replace the data key of the tenant {tenant_id}',
  DatabaseCredentialStored: 'stored the database credential {resource}',
  DeliveriesAcknowledged: 'recorded that the agent {agent} has processed deliveries',
  DeliveriesReplayRequested: 'requested to send deliveries again',
  DeliveriesReplayAdvanced: 'sent deliveries again: {done} so far',
  DeliveriesReplayFinished: 'finished sending deliveries again: {done} in all',
  DeliveriesReplayCancelled: 'cancelled sending deliveries again',
  DeliveryRequeued: 'queued a delivery again for the agent {agent}',
  DeliveryAttemptFailed: 'recorded that the agent {agent} has refused deliveries',
  DeliveryDeadLettered: 'gave up the delivery {delivery_id} to the agent {agent} after {attempts} attempts',
  FailoverChainChecked: 'checked the failover chain of the model {model_id}',
  FileScanned: 'scanned the file {filename}: {verdict}',
  GuardrailsReplaced: 'replaced the guardrail rules of {resource}',
  IdentityLinkAnswered: 'returned from {provider}, where an account was to be connected',
  IdentityLinkStarted: 'started to connect an account at {provider}',
  IdentityLinked: 'connected the account {resource}',
  IdentityRefreshFailed: 'could not renew the tokens of the account {resource}: {error}',
  IdentityRefreshRefused: 'was refused new tokens of the account {resource}: {error}',
  IdentityResealed: 'encrypted the secret of the account {resource} with a new data key',
  IdentityTokensRefreshed: 'renewed the tokens of the account {resource}',
  IdentityTokensRevoked: 'asked the provider to revoke the tokens of the account {resource}: {outcome}',
  IdentityUnlinked: 'unlinked the account {resource}',
  IntegrationConnected: 'connected the {provider} integration {resource}',
  IntegrationDisconnected: 'disconnected the integration {resource}',
  IntegrationPreviousSecretDropped: 'dropped the previous secret of the integration {resource}',
  IntegrationSecretResealed: 'encrypted the secret of the integration {resource} with a new data key',
  IntegrationSecretRotated: 'rotated the secret of the integration {resource}',
  IntegrationUpdated: 'changed {fields} of the integration {resource}',
  ListingCreated: 'offered {name} in the marketplace',
  ListingVersionPublished: 'published the version {version} of a listing of the marketplace',
  ListingVersionYanked: 'yanked the version {version} of a listing of the marketplace: {reason}',
  MasterKeyRotationCompleted: 'replaced the master key {from_kid} by {to_kid}',
  MasterKeyRotationConfirmed: 'confirmed that every machine has the master key {to_kid}',
  MasterKeyRotationStarted: 'started to replace the master key {from_kid} by {to_kid}',
  MailAttachmentAdded: 'added the file {filename} to a message of the agent {agent}',
  MailBlocked: 'blocked mail to the agent {agent}: {reason}',
  MailBounced: 'recorded that mail of the agent {agent} did not reach everybody',
  MailDeferred: 'could not deliver mail of the agent {agent} yet: {reason}',
  MailDelivered: 'delivered mail of the agent {agent}',
  MailReceived: 'received mail to the agent {agent}',
  MailSent: 'sent mail as the agent {agent}',
  MailboxDisabled: 'disabled a mailbox of the agent {agent}, because external mail is not allowed',
  MailboxEnabled: 'enabled a mailbox of the agent {agent}',
  MailboxPaused: 'paused a mailbox of the agent {agent}',
  MailboxProvisioned: 'gave the agent {agent} the mailbox {address}',
  MailboxResumed: 'resumed a mailbox of the agent {agent}',
  MemoryImportAdvanced: 'stored {done} entries for the memory of the agent {agent}',
  MemoryImportFailed: 'could not import a file into the memory of the agent {agent}: {error}',
  MemoryImportStarted: 'started to import {source} into the memory of the agent {agent}',
  MemoryImportUndone: 'undid an import into the memory of the agent {agent}',
  MemoryImported: 'imported {entries} entries into the memory of the agent {agent}',
  MemberAdded: 'added {person} as {role}',
  MemberInvitationAccepted: 'accepted the invitation of {person}',
  MemberInvitationIssued: 'invited {person}',
  MemberRemoved: 'removed {person} from the members',
  MemberRoleChanged: 'changed the role of {person} to {role}',
  MessageAppended: 'appended a message of the role {role} to a session of the agent {agent}',
  ModelClosedToTenant: 'closed the model {resource} to a tenant',
  ModelOpenedToTenant: 'opened the model {resource} to a tenant',
  ModelRegistered: 'registered the model {resource}',
  ModelStatusChanged: 'changed the status of the model {resource} to {status}',
  ModelUpdated: 'changed {fields} of the model {resource}',
  ParkedEventRetried: 'retried a parked event of the projection {projection}',
  PaymentEventRecorded: 'recorded the event {event_type} of the payment provider',
  PlanCreated: 'created the plan {resource}',
  PlatformFaviconChanged: 'changed the favicon of the platform',
  PlatformStarted: 'started for the first time',
  ProjectionPromoted: 'promoted the rebuilt projection {projection}',
  RedactionPatternsReplaced: 'replaced the redaction patterns',
  RunnerCredentialIssued: 'issued a broker credential to the runner of the agent {agent}',
  RunnerCredentialRevoked: 'revoked a broker credential of a runner',
  RuntimeDisclosed: 'read the runtime of the agent {resource}',
  SellerOnboardingStarted: 'started the onboarding as a seller',
  SellerStatusChanged: 'changed the status of a seller',
  SessionAttachmentAdded: 'added the file {filename} to a session of the agent {agent}',
  SessionCancelled: 'cancelled a session of the agent {agent}',
  SessionCompleted: 'completed a session of the agent {agent}',
  SessionExpired: 'expired a session of the agent {agent}',
  SessionFailed: 'ended a session of the agent {agent} as failed',
  SessionStarted: 'started a session of the agent {agent}',
  SignInLinkIssued: 'issued a sign-in link',
  SignInLinkUsed: 'used a sign-in link',
  SignedIn: 'signed in',
  SignInSeen: 'used the sign-in of a browser',
  SignedOut: 'signed out',
  SkillAuthored: 'authored the skill {resource}',
  SkillConfigDisclosed: 'read the configuration of the skill {skill} of the agent {resource}',
  SkillCreated: 'created the skill {resource}',
  SkillDeleted: 'deleted the skill {resource}',
  SkillImported: 'imported the skill {resource}',
  SkillInstalled: 'installed the skill {resource} from the marketplace',
  SkillUpdated: 'changed {fields} of the skill {resource}',
  SkillWebhookBlocked: 'blocked a call for the agent {agent}: {reason}',
  SkillWebhookCalled: 'accepted a call for the agent {agent}',
  SkillWebhookExposed: 'exposed the skill {resource} for the agent {agent}',
  SkillWebhookHidden: 'hid the skill {resource}: {reason}',
  SkillWebhookRefusalsCounted: 'counted {count} further refused calls for the agent {agent}',
  SkillWebhookRefused: 'refused calls for the agent {agent}',
  SkillWebhookTokenRotated: 'rotated the webhook token of the skill {resource}',
  SuperAdminAccessOpened: 'opened super-admin access to the tenant {resource} until {until}',
  SuperAdminGranted: 'made {resource} a super-admin',
  SuperAdminRead: 'read data of the tenant as super-admin: {what}',
  SuperAdminRevoked: 'revoked the super-admin rights of {resource}',
  TenantClosed: 'closed the tenant {resource}',
  TenantClosing: 'scheduled the tenant {resource} to be closed at {closes_at}',
  TenantCreated: 'created the tenant {resource}',
  TenantDataKeyDestroyed: 'destroyed the data key of the tenant {resource}',
  TenantErased: 'recorded what was erased of the tenant {resource}',
  TenantErasureCompleted: 'removed the rows, files and messages of the erased tenant {resource}',
  TenantErasureStarted: 'started to erase the tenant {resource}: {reason}',
  TenantEventsCounted: 'counted events of the tenant {resource}, which is being erased',
  TenantPlanChanged: 'changed the plan of the tenant {resource}',
  TenantPlanStatusChanged: 'changed the plan status of the tenant {resource} to {plan_status}',
  TenantReopened: 'reopened the tenant {resource}',
  TenantResumed: 'resumed the tenant {resource}',
  TenantSettingsChanged: 'changed {fields} of the tenant {resource}',
  TenantSuspended: 'suspended the tenant {resource}',
  TenantUpdated: 'changed {fields} of the tenant {resource}',
  ToolRegistered: 'registered the tool {resource}',
  ToolRemoved: 'removed the tool {resource}',
  ToolReserved: 'reserved the tool {resource} for the connector {connector}',
  ToolUpdated: 'changed {fields} of the tool {resource}',
  UsageRecorded: 'recorded the use of a model in a session of the agent {agent}',
  UseCaseIconChanged: 'changed the icon of the use case {key}',
  UserRegistered: 'registered the user {resource}',
  UserResumed: 'resumed the user {resource}',
  UserSeen: 'was active',
  UserSuspended: 'suspended the user {resource}',
  WebhookAccepted: 'accepted a delivery for the agent {agent}',
  WebhookBlocked: 'blocked a delivery for the agent {agent}: {reason}',
  WebhookBodySeen: 'recorded the body of a delivery',
  WebhookRedeliveryDiffered: 'received a redelivery whose body differs from the first one',
  WebhookRejected: 'rejected a delivery for the agent {agent}: {reason}',
  WebhookRejectionsCounted: 'counted {count} further rejected deliveries',
};

type Part = { readonly text: string; readonly field: string | null };

/** Maps event types to summaries for events whose actor is the platform itself. */
const SUMMARIES_OF_PLATFORM: Readonly<Record<string, string>> = {
  ApiKeyUsed: 'recorded that the API key {resource} is in use',
  SignInSeen: 'recorded that the sign-in of a browser is in use',
  UserSeen: 'recorded that the user {resource} is active',
};

/** Splits a summary into parts. Each part is a text and the name of the field that follows the text. */
const partsOf = (summary: string): readonly Part[] =>
  summary.split('}').map((part) => {
    const [text, field = null] = part.split('{') as [string, string?];
    return { text, field };
  });

const compiled = (summaries: Readonly<Record<string, string>>): ReadonlyMap<string, readonly Part[]> =>
  new Map(Object.entries(summaries).map(([type, summary]) => [type, partsOf(summary)]));
const COMPILED = compiled(SUMMARIES);
const COMPILED_OF_PLATFORM = compiled(SUMMARIES_OF_PLATFORM);

/** Formats names as a list: `a`, `a and b`, `a, b and c`. */
const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

const partOf = (field: string, names: SummaryNames, meta: Row): string => {
  if (field in names) return names[field as keyof SummaryNames];
  if (field === 'fields') return listed(Object.keys(meta).filter((name) => name !== 'reason')) || 'nothing';
  const value = meta[field];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : 'unknown';
};

/** Returns one English sentence about an event. `meta` has the fields of the event without secrets. */
export const summaryOf = ({ type, actor }: Recorded, names: SummaryNames, meta: Row): string => {
  const parts = (actor.kind === 'system' && COMPILED_OF_PLATFORM.get(type)) || COMPILED.get(type);
  if (!parts) return `${names.actor}: ${actionOf(type)}.`;
  let sentence = `${names.actor} `;
  for (const { text, field } of parts) sentence += field === null ? text : text + partOf(field, names, meta);
  return `${sentence}.`;
};
