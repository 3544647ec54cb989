import { z } from 'zod';
import type { ModelEvent } from '../../domain/agents/model.ts';
import { leafOf } from '../../domain/audit/recorded-event.ts';
import { PLATFORM, type Recorded } from '../../domain/event.ts';
import { EventId, Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import type { TenantEvent } from '../../domain/tenants/tenant.ts';
import { insertDerived, type Projection } from '../projection.ts';
import type { Table } from '../table.ts';
import { tenantCounter } from '../tenant-counter.ts';
import { EXCLUDED_CATEGORIES, entryOf } from './audit-entry.ts';
import { namesOf } from './audit-names.ts';
import { subjectChangesOf, subjectTable } from './audit-subject.ts';
import { eventSubjectTable, subjectRowsOf } from './event-subject.ts';

export const AuditLogRead = z
  .object({
    id: EventId,
    tenant_id: idOf('tenant').nullable().meta({ description: 'The tenant; null for an event of the platform' }),
    user_id: z
      .string()
      .nullable()
      .meta({ description: 'The user who did it; null if it was not a user', examples: ['c1u33xtplpft75v2seh60kvj5'] }),
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
    actor: z
      .object({
        kind: z.enum(['user', 'agent', 'system']).meta({ description: 'A user, the runner of an agent, or a part of the platform' }),
        id: z.string().meta({ description: 'The id of the user or agent; for the platform, the name of its part' }),
        name: z.string().nullable().meta({ description: 'The name at the time; null if it has none or the reader may not see it' }),
        email: z.string().nullable().meta({ description: 'The e-mail address of a user whom the reader may see' }),
        key_id: z.string().nullable().meta({ description: 'The API key that was used; null if it was none' }),
      })
      .meta({
        description: 'Who did it',
        examples: [
          { kind: 'user', id: 'c1u33xtplpft75v2seh60kvj5', name: 'Ada', email: 'ada@example.com', key_id: 'c9jpfsapokir73x0gc7lerkjb' },
        ],
      }),
    request_id: z
      .string()
      .nullable()
      .meta({ description: 'The `X-Request-Id` of the request that caused it', examples: ['d4a70a74-dd1e-442f-82b7-7f3b03113be5'] }),
    resource_name: z
      .string()
      .nullable()
      .meta({ description: 'The name of the resource at the time; null if it has none', examples: ['Reviewer'] }),
    changes: z
      .array(
        z.object({
          pointer: z.string().meta({ description: 'A JSON pointer to the field that changed', examples: ['/description'] }),
          from: z.unknown().meta({ description: 'The value before; a long one is cut' }),
          to: z.unknown().meta({ description: 'The value after; a long one is cut' }),
        }),
      )
      .meta({
        description: 'What changed; empty for a new resource and for events that only `meta` describes. The value of a secret is `***`',
        examples: [[{ pointer: '/description', from: null, to: 'Reviews pull requests' }]],
      }),
    subjects: z
      .array(
        z.object({
          kind: z.string().meta({ description: 'The kind of the subject', examples: ['user'] }),
          id: z.string().meta({ description: 'The id of the subject', examples: ['c1u33xtplpft75v2seh60kvj5'] }),
          name: z
            .string()
            .nullable()
            .meta({ description: 'The name at the time; null if it has none or the reader may not see it', examples: ['Ada'] }),
        }),
      )
      .meta({
        description: 'What else the event concerns, besides the resource and who did it. `about` finds the event by each of them',
        examples: [[{ kind: 'user', id: 'c1u33xtplpft75v2seh60kvj5', name: 'Ada' }]],
      }),
    summary: z
      .string()
      .meta({ description: 'What happened, in one sentence', examples: ['Ada (ada@example.com) created the agent “Reviewer”.'] }),
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
    key_id: 'text',
    request_id: 'text',
    // The id of the event that caused this one; null for most events.
    cause_id: 'text',
    // The category of the stream of the event.
    category: 'text',
    agent_id: 'text',
    action: 'text',
    resource_type: 'text',
    resource_id: 'text',
    // The user who did it; null if the actor was not a user.
    user_id: 'text',
    by_runner: 'boolean',
    created_at: 'timestamptz',
    place: 'text',
    // The hash of the event's leaf in the tenant's audit tree. Its earlier name `leaf` was that of a hash that left out
    // the bytes of events. With the new name, a program that expects the other hash finds none.
    leaf_hash: 'text',
  },
  docs: { doc: AuditLogRead },
  indexes: [
    { columns: ['tenant_id', 'created_at'] },
    { columns: ['tenant_id', 'place'] },
    // One index for each filter except `resource_type`, in the order of the list. The indexes omit `place`, to be
    // smaller: it only orders entries with the same time, which Postgres sorts itself. Some also omit the tenant,
    // because the ids of agents and of most resources occur in one tenant only. Rare kinds of resources are found by
    // their actions.
    { columns: ['resource_id', 'created_at'] },
    { columns: ['agent_id', 'created_at'], withoutNull: 'agent_id' },
    // Few of the entries are about actions of people, so their index is small.
    { columns: ['tenant_id', 'created_at'], withoutNull: 'user_id' },
    // Few events belong to the same request, so this index needs no column for their order.
    { columns: ['request_id'], withoutNull: 'request_id' },
    { columns: ['tenant_id', 'cause_id', 'place'], withoutNull: 'cause_id' },
    { columns: ['tenant_id', 'key_id', 'created_at'], withoutNull: 'key_id' },
    { columns: ['tenant_id', 'actor_id', 'created_at'] },
    { columns: ['tenant_id', 'action', 'created_at'] },
  ],
} as const satisfies Table;

/**
 * A second table, with only the entries of the platform's audit log. Pages of that log are read from this table, so the
 * main table, which is much larger, needs no index for them.
 */
export const platformTable = {
  ...table,
  name: 'platform_audit_logs',
  isKeptAfterErasure: true,
  indexes: [{ columns: ['created_at', 'place'] }],
} as const satisfies Table;

/**
 * The events by which the platform changes a tenant, or what a tenant may use. They appear in the audit log of the
 * tenant and in that of the platform.
 */
const PLATFORM_ACTIONS_ON_TENANTS = [
  'TenantCreated',
  'TenantUpdated',
  'TenantPlanChanged',
  'TenantPlanStatusChanged',
  'TenantSuspended',
  'TenantResumed',
  'TenantClosed',
  'TenantErasureStarted',
  'TenantDataKeyDestroyed',
  'TenantEventsCounted',
  'TenantErased',
  'TenantErasureCompleted',
  'SuperAdminAccessOpened',
  'ModelOpenedToTenant',
  'ModelClosedToTenant',
] as const satisfies (TenantEvent | ModelEvent)['type'][];

const isOfPlatform = ({ meta, type }: Recorded): boolean =>
  meta.tenant === PLATFORM || (PLATFORM_ACTIONS_ON_TENANTS as readonly string[]).includes(type);

export const auditCounter = tenantCounter('audit', 'lines');

const entriesOf = (event: Recorded) => {
  const entry = { ...entryOf(event), leaf_hash: leafOf(event) };
  const inserted = (name: string, reader: 'tenant' | 'platform') => insertDerived(name, entry, namesOf(event, entry, reader));
  // When this event is recorded, the tenant's own audit log has been removed. Only the platform's audit log gets an
  // entry.
  if (event.type === 'TenantErasureCompleted') return [inserted(platformTable.name, 'platform')];
  return [
    inserted(table.name, 'tenant'),
    ...subjectRowsOf(event, entry),
    auditCounter.add(event.meta.tenant, 1),
    ...(isOfPlatform(event) ? [inserted(platformTable.name, 'platform')] : []),
    // The changes of the stored names must come last: the entries above must show the names from before this event.
    ...subjectChangesOf(event),
  ];
};

/** The audit log, with one entry for every event that is not in an excluded category. */
export const audit = {
  name: 'audit',
  version: 20,
  categories: '*',
  tables: [table, platformTable, auditCounter.table, subjectTable, eventSubjectTable],
  on: {},
  every: (event) => (EXCLUDED_CATEGORIES.has(event.category) ? [] : entriesOf(event)),
} as const satisfies Projection;
