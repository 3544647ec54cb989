import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { PLATFORM, type Recorded, sortKey, tokenOf } from '../../domain/event.ts';
import { EventId, Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
import type { TenantEvent } from '../../domain/tenants/tenant.ts';
import * as DeliveryBody from '../../domain/webhooks/delivery-body.ts';
import * as Rejection from '../../domain/webhooks/rejection.ts';
import { insert, type Projection, type Row } from '../projection.ts';
import type { Table } from '../table.ts';
import { tenantCounter } from '../tenant-counter.ts';

export const AuditLogRead = z
  .object({
    id: EventId,
    tenant_id: idOf('tenant').nullable().meta({ description: 'The tenant; null for an event of the platform' }),
    user_id: z
      .string()
      .nullable()
      .meta({ description: 'The user who did it; null if it was no user', examples: ['c1u33xtplpft75v2seh60kvj5'] }),
    agent_id: z
      .string()
      .nullable()
      .meta({ description: 'The agent that it concerns', examples: ['czdoc9is0j8ht9lgmxg9edn58'] }),
    action: z.string().meta({ description: 'What happened: the resource, a dot, and the change', examples: ['agent.updated'] }),
    resource_type: z.string().meta({ description: 'The kind of the resource', examples: ['agent'] }),
    resource_id: z
      .string()
      .nullable()
      .meta({ description: 'The id of the resource', examples: ['czdoc9is0j8ht9lgmxg9edn58'] }),
    ip: z
      .string()
      .nullable()
      .meta({ description: 'The IP address of the caller', examples: ['192.0.2.7'] }),
    user_agent: z
      .string()
      .nullable()
      .meta({ description: 'The header User-Agent of the caller', examples: ['curl/8.5.0'] }),
    meta: z
      .record(z.string(), z.unknown())
      .meta({ description: 'The fields of the event, without secrets', examples: [{ description: 'Reviews pull requests' }] }),
    created_at: Timestamp,
    position: z.string().meta({ description: 'The position of the event in the log', examples: ['48211:48211'] }),
  })
  .meta({ id: 'AuditLogRead' });

export const table = {
  name: 'audit_logs',
  key: ['id'],
  appendOnly: true,
  columns: {
    id: 'text',
    tenant_id: 'text',
    actor_id: 'text',
    agent_id: 'text',
    action: 'text',
    resource_type: 'text',
    resource_id: 'text',
    created_at: 'timestamptz',
    place: 'text',
  },
  docs: { doc: AuditLogRead },
  indexes: [{ columns: ['tenant_id', 'created_at', 'place'] }, { columns: ['tenant_id', 'place'] }],
} as const satisfies Table;

/**
 * A second table, which holds only the entries of the platform's audit log. Pages of that log are read from this table.
 * So the main table, which also holds the many entries of tenants, needs no index in the order of that log.
 */
export const platformTable = {
  ...table,
  name: 'platform_audit_logs',
  indexes: [{ columns: ['created_at', 'place'] }],
} as const satisfies Table;

/**
 * The events by which the platform changes a tenant. They appear in the audit log of the tenant and in that of the
 * platform.
 */
const PLATFORM_ACTIONS_ON_TENANTS = [
  'TenantCreated',
  'TenantUpdated',
  'TenantPlanChanged',
  'TenantSuspended',
  'TenantResumed',
  'TenantClosed',
  'SuperAdminAccessOpened',
] as const satisfies TenantEvent['type'][];

const isOfPlatform = ({ meta, type }: Recorded): boolean =>
  meta.tenant === PLATFORM || (PLATFORM_ACTIONS_ON_TENANTS as readonly string[]).includes(type);

/**
 * Matches the name of the resource at the start of an event type. The listed names have two words; every other name is
 * only the first word of the event type.
 */
const NOUNS = /^(?:ApiKey|ParkedEvent|RunnerCredential|SkillConfig|SkillWebhook|SuperAdmin)(?=[A-Z])|^[A-Z][a-z0-9]*/;

const snake = (name: string): string => name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase();

/**
 * Returns the name of an action: the resource, a dot, and what happened to it. For example, `AgentModelChainReordered`
 * becomes `agent.model_chain_reordered`.
 */
export const actionOf = (type: string): string => {
  const noun = NOUNS.exec(type)?.[0] ?? type;
  return noun === type ? snake(type) : `${snake(noun)}.${snake(type.slice(noun.length))}`;
};

/** Whether a field is a digest or an encrypted secret. Such a field must never appear in the audit log. */
const isHidden = (name: string, value: unknown): boolean =>
  name === 'digest' || name.startsWith('sealed') || (typeof value === 'string' && /^v1\.[\w-]+\.[\w-]+\./.test(value));

const metaOf = ({ data, meta }: Recorded): Record<string, unknown> => {
  const fields = data instanceof Uint8Array ? (meta.facts ?? {}) : (data as Record<string, unknown>);
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => !isHidden(name, value)));
};

/** The categories in which the id of a stream is the id of an agent. */
const CATEGORIES_BY_AGENT: readonly string[] = [Agent.category, Acknowledgement.category];

const agentOf = (event: Recorded, meta: Record<string, unknown>): string | null => {
  if (CATEGORIES_BY_AGENT.includes(event.category)) return event.id;
  if (typeof meta.agent_id === 'string') return meta.agent_id;
  return event.actor.kind === 'agent' ? event.actor.id : null;
};

type Source = Pick<Rejection.Rejection, 'ip' | 'user_agent'>;

/**
 * Returns the IP address and the user agent of the caller. They are usually in the metadata of the event. The sender of
 * a rejected webhook call is not verified, so its event has them in the data.
 */
const sourceOf = ({ category, data, meta }: Recorded): Source => {
  if (category !== Rejection.category) return { ip: meta.ip ?? null, user_agent: meta.userAgent ?? null };
  const { ip = null, user_agent = null } = data as Partial<Source>;
  return { ip, user_agent };
};

const entryOf = (event: Recorded): Row => {
  const meta = metaOf(event);
  return {
    id: event.event_id,
    tenant_id: event.meta.tenant === PLATFORM ? null : event.meta.tenant,
    actor_id: event.actor.id,
    user_id: event.actor.kind === 'user' ? event.actor.id : null,
    agent_id: agentOf(event, meta),
    action: actionOf(event.type),
    resource_type: event.category,
    resource_id: event.id,
    ...sourceOf(event),
    meta,
    created_at: event.at,
    position: tokenOf(event.position),
    place: sortKey(event.position),
  };
};

/** Counts the audit log entries of each tenant. */
export const auditCounter = tenantCounter('audit', 'lines');

const entriesOf = (event: Recorded) => {
  const entry = entryOf(event);
  const changes = [insert(table.name, entry), auditCounter.add(event.meta.tenant, 1)];
  return isOfPlatform(event) ? [...changes, insert(platformTable.name, entry)] : changes;
};

/**
 * The categories whose events the audit log leaves out: idempotency keys, wrapped keys and the chunks of delivery
 * bodies.
 */
const excludedFromAudit = new Set(['idempotency', 'key', DeliveryBody.category]);

/** The audit log, with one entry for every event that is not in an excluded category. */
export const audit = {
  name: 'audit',
  version: 5,
  categories: '*',
  tables: [table, platformTable, auditCounter.table],
  on: {},
  every: (event) => (excludedFromAudit.has(event.category) ? [] : entriesOf(event)),
} as const satisfies Projection;
