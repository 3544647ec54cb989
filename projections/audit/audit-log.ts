import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { PLATFORM, type Recorded, sortKey, tokenOf } from '../../domain/event.ts';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
import type { TenantEvent } from '../../domain/tenants/tenant.ts';
import * as DeliveryBody from '../../domain/webhooks/delivery-body.ts';
import * as Rejection from '../../domain/webhooks/rejection.ts';
import { insert, type Projection, type Row } from '../projection.ts';
import type { Table } from '../table.ts';
import { tenantCounter } from '../tenant-counter.ts';

export const AuditLogRead = z
  .object({
    id: z.string(),
    tenant_id: z.string().nullable(),
    user_id: z.string().nullable(),
    agent_id: z.string().nullable(),
    action: z.string(),
    resource_type: z.string(),
    resource_id: z.string().nullable(),
    ip: z.string().nullable(),
    user_agent: z.string().nullable(),
    meta: z.record(z.string(), z.unknown()),
    created_at: z.string(),
    position: z.string(),
  })
  .meta({ id: 'AuditLogRead' });

export const table: Table = {
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
};

/**
 * The lines of the platform's log once more, in a table of their own: their order costs the lines of tenants, which are by far the most,
 * nothing.
 */
export const platformTable: Table = { ...table, name: 'platform_audit_logs', indexes: [{ columns: ['created_at', 'place'] }] };

/** What the platform does to a tenant: it stands in the tenant's log and in the platform's. */
const ON_TENANTS = [
  'TenantCreated',
  'TenantUpdated',
  'TenantPlanChanged',
  'TenantSuspended',
  'TenantResumed',
  'TenantClosed',
  'SuperAdminAccessOpened',
] as const satisfies TenantEvent['type'][];

const isOfPlatform = ({ meta, type }: Recorded): boolean => meta.tenant === PLATFORM || (ON_TENANTS as readonly string[]).includes(type);

/** Nouns of two words; every other event's noun is its first word. */
const NOUNS = /^(?:ApiKey|ParkedEvent|RunnerCredential|SkillConfig|SkillWebhook|SuperAdmin)(?=[A-Z])|^[A-Z][a-z0-9]*/;

const snake = (words: string): string => words.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase();

/** `AgentModelChainReordered` -> `agent.model_chain_reordered`: what it happened to, a dot, and what happened. */
export const actionOf = (type: string): string => {
  const noun = NOUNS.exec(type)?.[0] ?? type;
  return noun === type ? snake(type) : `${snake(noun)}.${snake(type.slice(noun.length))}`;
};

/** What is never shown of an event: digests, and secrets though they are sealed. */
const hidden = (name: string, value: unknown): boolean =>
  name === 'digest' || name.startsWith('sealed') || (typeof value === 'string' && /^v1\.[\w-]+\.[\w-]+\./.test(value));

const metaOf = ({ data, meta }: Recorded): Record<string, unknown> => {
  const shown = data instanceof Uint8Array ? (meta.facts ?? {}) : (data as Record<string, unknown>);
  return Object.fromEntries(Object.entries(shown).filter(([name, value]) => !hidden(name, value)));
};

/** Categories whose streams are an agent's. */
const OF_AGENTS: readonly string[] = [Agent.category, Acknowledgement.category];

const agentOf = (event: Recorded, meta: Record<string, unknown>): string | null => {
  if (OF_AGENTS.includes(event.category)) return event.id;
  if (typeof meta.agent_id === 'string') return meta.agent_id;
  return event.actor.kind === 'agent' ? event.actor.id : null;
};

type Source = Pick<Rejection.Rejection, 'ip' | 'user_agent'>;

/** Where it came from; a forged post, which is nobody's that we know, says so in its data. */
const sourceOf = ({ category, data, meta }: Recorded): Source => {
  if (category !== Rejection.category) return { ip: meta.ip ?? null, user_agent: meta.userAgent ?? null };
  const { ip = null, user_agent = null } = data as Partial<Source>;
  return { ip, user_agent };
};

const lineOf = (event: Recorded): Row => {
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

/** How many lines each tenant has. */
export const auditCounter = tenantCounter('audit', 'lines');

const lines = (event: Recorded) => {
  const line = lineOf(event);
  const told = [insert(table.name, line), auditCounter.by(event.meta.tenant, 1)];
  return isOfPlatform(event) ? [...told, insert(platformTable.name, line)] : told;
};

/** What tells nobody anything: what keeps a promise to a client (idempotency keys), wrapped keys, and the parts of a delivery's body. */
const excludedFromAudit = new Set(['idempotency', 'key', DeliveryBody.category]);

/** Every event there is, as a line for auditors, but for those that tell nobody anything. */
export const audit: Projection = {
  name: 'audit',
  version: 5,
  categories: '*',
  tables: [table, platformTable, auditCounter.table],
  on: {},
  every: (event) => (excludedFromAudit.has(event.category) ? [] : lines(event)),
};
