import * as Agent from '../../domain/agents/agent.ts';
import * as AuditAnchor from '../../domain/audit/audit-anchor.ts';
import * as AuditHead from '../../domain/audit/audit-head.ts';
import * as LeafRule from '../../domain/audit/leaf-rule.ts';
import * as BillingRecord from '../../domain/billing/billing-record.ts';
import * as BudgetHour from '../../domain/billing/budget-hour.ts';
import * as Seller from '../../domain/billing/seller.ts';
import * as DeliveryBody from '../../domain/bodies/delivery-body.ts';
import * as CredentialRequest from '../../domain/credentials/credential-request.ts';
import * as IdentityLink from '../../domain/credentials/identity-link.ts';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import * as Rejection from '../../domain/deliveries/rejection.ts';
import { PLATFORM, type Recorded, sortKey, tokenOf } from '../../domain/event.ts';
import * as TenantGuardrails from '../../domain/guardrails/tenant-guardrails.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import * as User from '../../domain/identity/user.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import * as KeyRotation from '../../domain/operations/key-rotation.ts';
import * as RedactionPatterns from '../../domain/redaction/redaction-patterns.ts';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
import * as AttemptReport from '../../domain/runners/attempt-report.ts';
import * as Publication from '../../domain/runners/publication.ts';
import * as RunnerCredential from '../../domain/runners/runner-credential.ts';
import * as SkillRefusal from '../../domain/skill-calls/skill-refusal.ts';
import * as SkillWebhook from '../../domain/skill-calls/skill-webhook.ts';
import * as SlackConfig from '../../domain/slack/slack-config.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { AUDIT_RECORDS } from '../audit-records.ts';
import type { Row } from '../projection.ts';

/**
 * Matches the name of the resource at the start of an event type. The listed names have two words; every other name is
 * only the first word of the event type.
 */
const NOUNS = /^(?:ApiKey|DataKey|MasterKey|ParkedEvent|RunnerCredential|SkillConfig|SkillWebhook|SuperAdmin)(?=[A-Z])|^[A-Z][a-z0-9]*/;

const snake = (name: string): string => name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase();

/**
 * Returns the name of an action: the resource, a dot, and what happened to it. For example, `AgentModelChainReordered`
 * becomes `agent.model_chain_reordered`.
 */
export const actionOf = (type: string): string => {
  const noun = NOUNS.exec(type)?.[0] ?? type;
  return noun === type ? snake(type) : `${snake(noun)}.${snake(type.slice(noun.length))}`;
};

/** Returns whether a field is a digest or an encrypted secret. Such a field must never appear in the audit log. */
const isHidden = (name: string, value: unknown): boolean =>
  name === 'digest' || name.startsWith('sealed') || (typeof value === 'string' && /^v1\.[\w-]+\.[\w-]+\./.test(value));

const isRecord = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a value without the secrets in it, at whatever depth. */
const shown = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.filter((item) => !isHidden('', item)).map(shown);
  return isRecord(value) ? shownFields(value) : value;
};

const shownFields = (fields: Row): Row =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([name, value]) => !isHidden(name, value))
      .map(([name, value]) => [name, shown(value)]),
  );

const metaOf = ({ data, meta }: Recorded): Row => shownFields(data instanceof Uint8Array ? (meta.facts ?? {}) : (data as Row));

/** The categories in which the id of a stream is the id of an agent. */
const CATEGORIES_BY_AGENT: readonly string[] = [Agent.category, Acknowledgement.category, AttemptReport.category, SlackConfig.category];

const agentOf = (event: Recorded, meta: Row): string | null => {
  if (CATEGORIES_BY_AGENT.includes(event.category)) return event.id;
  if (typeof meta.agent_id === 'string') return meta.agent_id;
  return event.actor.kind === 'agent' ? event.actor.id : null;
};

type Source = Pick<Rejection.Rejection, 'ip' | 'user_agent'>;

/**
 * Returns the IP address and the user agent of the caller, which are usually in the metadata of the event. The sender
 * of a rejected webhook call or of a refused skill call is not verified, so these events have them in their data. For
 * an event about several calls, both are null.
 */
const sourceOf = ({ category, data, meta }: Recorded): Source => {
  if (category !== Rejection.category && category !== SkillRefusal.category)
    return { ip: meta.ip ?? null, user_agent: meta.userAgent ?? null };
  const [call = data, ...others] = (data as { calls?: readonly Source[] }).calls ?? [];
  const { ip = null, user_agent = null } = others.length > 0 ? {} : (call as Partial<Source>);
  return { ip, user_agent };
};

/**
 * Maps stream categories to resource types, where the two differ. A type of two words is written as in the names of
 * actions. The streams of rejections, acknowledgements, reports of attempts, Slack settings, redaction patterns and
 * guardrails have the id of another resource, so their entries get the type of that resource.
 */
const RESOURCE_TYPES: Readonly<Record<string, string>> = {
  [ApiKey.category]: 'api_key',
  [RunnerCredential.category]: 'runner_credential',
  [CredentialRequest.category]: 'credential_request',
  [IdentityLink.category]: 'identity_link',
  [KeyRotation.category]: 'key_rotation',
  [LinkedIdentity.category]: 'linked_identity',
  [Rejection.category]: Integration.category,
  [SkillWebhook.category]: 'skill_webhook',
  [SkillRefusal.category]: 'skill_webhook',
  [Acknowledgement.category]: Agent.category,
  [AttemptReport.category]: Agent.category,
  [SlackConfig.category]: Agent.category,
  [RedactionPatterns.category]: Tenant.category,
  [TenantGuardrails.category]: Tenant.category,
  [BillingRecord.category]: Tenant.category,
  [Seller.category]: User.category,
  [LeafRule.category]: Tenant.category,
};

/**
 * Returns the resource that an event is about. An event about a member is in the stream of the tenant, but is about the
 * user. Events about disclosures and budgets have separate streams, but are about the agent.
 */
const resourceOf = ({ category, id, type }: Recorded, { user_id, agent_id }: Row): Row => {
  const about = AUDIT_RECORDS.get(type)?.about;
  if (about === 'member' && typeof user_id === 'string') return { resource_type: 'member', resource_id: user_id };
  if (about === 'agent' || category === BudgetHour.category) return { resource_type: Agent.category, resource_id: agent_id };
  return { resource_type: RESOURCE_TYPES[category] ?? category, resource_id: id };
};

/** Returns the id of the event that caused this event; null if it was caused by no event or by several. */
const causeOf = ({ meta, category }: Recorded, { repeats, event_id }: Row): unknown =>
  meta.$causationId ?? repeats ?? (category === Acknowledgement.category ? event_id : null) ?? null;

/** Returns those fields of an event's audit log entry that need only the event itself. */
export const entryOf = (event: Recorded): Row => {
  const meta = metaOf(event);
  const { kind, id, key_id = null } = event.actor;
  return {
    id: event.event_id,
    tenant_id: event.meta.tenant === PLATFORM ? null : event.meta.tenant,
    actor_id: id,
    key_id,
    request_id: event.meta.$correlationId ?? null,
    cause_id: causeOf(event, meta),
    category: event.category,
    user_id: kind === 'user' ? id : null,
    by_runner: kind === 'agent',
    agent_id: agentOf(event, meta),
    action: actionOf(event.type),
    ...resourceOf(event, meta),
    ...sourceOf(event),
    meta,
    created_at: event.at,
    position: tokenOf(event.position),
    place: sortKey(event.position),
  };
};

/**
 * The categories whose events the audit log leaves out: idempotency keys, wrapped keys, chunks of delivery bodies,
 * records of published messages, the signed heads of audit logs, and the records of sending these heads to
 * AUDIT_ANCHOR_URL.
 */
export const EXCLUDED_CATEGORIES: ReadonlySet<string> = new Set([
  'idempotency',
  'key',
  DeliveryBody.category,
  Publication.category,
  AuditHead.category,
  AuditAnchor.category,
]);
