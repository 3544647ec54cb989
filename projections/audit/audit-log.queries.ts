import { type SelectQueryBuilder, sql } from 'kysely';
import { PLATFORM, type Position, parseToken, positionOfSortKey, sortKey } from '../../domain/event.ts';
import type { Database, RowOf } from '../database.ts';
import { defineList, defineQuery, prefixPattern } from '../query.ts';
import { byKey, DOC_SEPARATOR, type Page, type PageWindow, pagesOf, type Reads, tenantCount } from '../read-model.ts';
import { audit, auditCounter, platformTable, table } from './audit-log.ts';
import type { Described } from './audit-sentence.ts';

export const AUDIT_BY = ['people', 'runners', 'platform'] as const;
export type AuditBy = (typeof AUDIT_BY)[number];

/**
 * The filters of an audit log. `actor` is a user, an agent or a part of the platform; `user_id` is only a user. The
 * time `from` is inclusive, `to` is exclusive.
 */
export type AuditFilter = {
  /** An action such as `agent.updated`, or a pattern such as `agent.*` for all actions with this start. */
  readonly action?: string | undefined;
  readonly actor?: string | undefined;
  readonly user_id?: string | undefined;
  readonly key_id?: string | undefined;
  readonly resource_type?: string | undefined;
  readonly resource_id?: string | undefined;
  readonly agent_id?: string | undefined;
  /** Who did it: people, the runners of agents, or the platform with its integrations. */
  readonly by?: AuditBy | undefined;
  /** Only these actions. */
  readonly one_of?: readonly string[] | undefined;
  /** The person, agent or other resource that the entries concern, no matter who did it. At most one of the three. */
  readonly about_user?: string | undefined;
  readonly about_agent?: string | undefined;
  readonly about_resource?: string | undefined;
  /** Further events that concern the resource `about_resource`. */
  readonly about_events?: readonly string[] | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

/** The filters in the form that the queries use: `actions` is a pattern for `like`, and one of the last three is set. */
type EntryFilter = Omit<AuditFilter, 'by'> & {
  readonly actions?: string | undefined;
  readonly by_people?: true;
  readonly by_runners?: true;
  readonly by_platform?: true;
};

const ANY_ACTION = '.*';

const withPattern = ({ action, by, ...filter }: AuditFilter): EntryFilter => ({
  ...filter,
  ...(action?.endsWith(ANY_ACTION) ? { actions: prefixPattern(action.slice(0, -1)) } : { action }),
  ...(by && { [`by_${by}`]: true }),
});

type Entries = SelectQueryBuilder<Database & { entry: RowOf<typeof table> }, 'entry', object>;

/**
 * Selects the entries whose events the index has for a subject. The ids are an array, so that Postgres finds the entries
 * by their key.
 */
const isIndexed = (tenant_id: string, subject_id: string) => sql<boolean>`entry.id = any(array(
  select event_id from audit.event_subjects where tenant_id = ${tenant_id} and subject_id = ${subject_id}))`;

const filtered = (entries: Entries, filter: EntryFilter): Entries => {
  const { action, actions, one_of, actor, user_id, key_id, resource_type, resource_id, agent_id, from, to } = filter;
  return entries
    .$if(filter.by_people !== undefined, (query) => query.where('entry.user_id', 'is not', null))
    .$if(filter.by_runners !== undefined, (query) => query.where('entry.by_runner', '=', true))
    .$if(filter.by_platform !== undefined, (query) => query.where('entry.user_id', 'is', null).where('entry.by_runner', '=', false))
    .$if(one_of !== undefined, (query) => query.where(({ eb, fn, val }) => eb('entry.action', '=', fn.any(val(one_of!)))))
    .$if(actions !== undefined, (query) => query.where('entry.action', 'like', actions!))
    .$if(user_id !== undefined, (query) => query.where('entry.actor_id', '=', user_id!).where('entry.user_id', 'is not', null))
    .$if(key_id !== undefined, (query) => query.where('entry.key_id', '=', key_id!))
    .$if(action !== undefined, (query) => query.where('entry.action', '=', action!))
    .$if(actor !== undefined, (query) => query.where('entry.actor_id', '=', actor!))
    .$if(resource_type !== undefined, (query) => query.where('entry.resource_type', '=', resource_type!))
    .$if(resource_id !== undefined, (query) => query.where('entry.resource_id', '=', resource_id!))
    .$if(agent_id !== undefined, (query) => query.where('entry.agent_id', '=', agent_id!))
    .$if(from !== undefined, (query) => query.where('entry.created_at', '>=', from!))
    .$if(to !== undefined, (query) => query.where('entry.created_at', '<', to!));
};

type TenantEntries = EntryFilter & { readonly tenant_id: string };

const ofTenant = (entries: Entries, { tenant_id, ...filter }: TenantEntries): Entries => {
  const { about_user, about_agent, about_resource, about_events } = filter;
  return filtered(entries.where('entry.tenant_id', '=', tenant_id), filter)
    .$if(about_user !== undefined, (query) => query.where(isIndexed(tenant_id, about_user!)))
    .$if(about_agent !== undefined, (query) =>
      query.where(({ eb, or }) => or([eb('entry.agent_id', '=', about_agent!), isIndexed(tenant_id, about_agent!)])),
    )
    .$if(about_resource !== undefined, (query) =>
      query.where(({ eb, or, fn, val }) =>
        or([
          eb('entry.resource_id', '=', about_resource!),
          isIndexed(tenant_id, about_resource!),
          // An integration is the actor of its deliveries.
          eb('entry.actor_id', '=', about_resource!),
          ...(about_events === undefined ? [] : [eb('entry.id', '=', fn.any(val(about_events)))]),
        ]),
      ),
    );
};

const auditList = defineList({ table, tieBreak: 'place' }, (db, filter: TenantEntries) =>
  ofTenant(db.selectFrom('audit.audit_logs as entry'), filter),
);

const platformAuditList = defineList({ table: platformTable, tieBreak: 'place' }, (db, filter: EntryFilter) =>
  filtered(db.selectFrom('audit.platform_audit_logs as entry'), filter),
);

/** Returns a page of the audit log of one tenant, or of the platform if `tenant_id` is null. */
export const auditPage = (reads: Reads, tenant_id: string | null, filter: AuditFilter, window: PageWindow): Promise<Page> =>
  tenant_id === null
    ? reads.page(platformAuditList, withPattern(filter), window)
    : reads.page(auditList, { tenant_id, ...withPattern(filter) }, window);

/** The most entries that are counted as hidden. */
export const MAX_HIDDEN = 5_000;

type HiddenArgs = TenantEntries & { readonly not_people?: true; readonly not_runners?: true; readonly not_platform?: true };

const hiddenEntries = defineQuery((db, { not_people, not_runners, not_platform, ...filter }: HiddenArgs) =>
  db
    .selectFrom(
      ofTenant(db.selectFrom('audit.audit_logs as entry'), filter)
        .$if(not_people !== undefined, (query) => query.where('entry.user_id', 'is', null))
        .$if(not_runners !== undefined, (query) => query.where('entry.by_runner', '=', false))
        .$if(not_platform !== undefined, (query) =>
          query.where(({ eb, or }) => or([eb('entry.user_id', 'is not', null), eb('entry.by_runner', '=', true)])),
        )
        .select('entry.id')
        .limit(({ lit }) => lit(MAX_HIDDEN))
        .as('hidden'),
    )
    .select(({ fn, cast }) => cast<number>(fn.countAll(), 'integer').as('count')),
);

/** Counts what `by` hides of the entries that the other filters select, at most MAX_HIDDEN. */
export const hiddenCount = async (reads: Reads, tenant_id: string, { by, ...filter }: AuditFilter & { readonly by: AuditBy }) =>
  (await reads.rows(hiddenEntries, { tenant_id, ...withPattern(filter), [`not_${by}`]: true }))[0]?.count ?? 0;

export const auditCount = (reads: Reads, tenant_id: string): Promise<number> =>
  tenantCount(reads, audit.name, auditCounter.table, tenant_id);

const newestEntry = defineQuery((db, { tenant_id, until, time }: { tenant_id: string; until?: string | undefined; time?: string }) =>
  db
    .selectFrom('audit.audit_logs as entry')
    .select('entry.doc')
    .where('entry.tenant_id', '=', tenant_id)
    .$if(until !== undefined, (query) => query.where('entry.place', '<=', until!))
    .$if(time !== undefined, (query) => query.where('entry.created_at', '<=', time!).orderBy('entry.created_at', 'desc'))
    .orderBy('entry.place', 'desc')
    .limit(({ lit }) => lit(1)),
);

const newestPlatformEntry = defineQuery((db, { time }: { time: string }) =>
  db
    .selectFrom('audit.platform_audit_logs as entry')
    .select('entry.doc')
    .where('entry.created_at', '<=', time)
    .orderBy('entry.created_at', 'desc')
    .orderBy('entry.place', 'desc')
    .limit(({ lit }) => lit(1)),
);

type Entry = { readonly position: string; readonly created_at: string };

/**
 * Returns the log position of the last event of a tenant, or of the platform, at or before a time, as a consistency
 * token; null if there is no such event.
 */
export const positionAt = async (reads: Reads, tenant_id: string, time: string): Promise<string | null> => {
  const [last] =
    tenant_id === PLATFORM ? await reads.rows(newestPlatformEntry, { time }) : await reads.rows(newestEntry, { tenant_id, time });
  return last ? (JSON.parse(last.doc) as Entry).position : null;
};

export const positionOfEvent = async (reads: Reads, event_id: string): Promise<Position | null> => {
  const entry = await byKey<Entry, typeof table>(reads, { projection: audit.name, table }, { id: event_id });
  return entry && parseToken(entry.position);
};

/** Returns what the audit log of the tenant says about an event; null if it lacks the event. */
export const describedEvent = async (reads: Reads, event_id: string): Promise<Described | null> =>
  byKey<Described, typeof table>(reads, { projection: audit.name, table }, { id: event_id });

/** The name and the e-mail address of an actor, as the tenant may see them. */
export type ActorNames = { readonly name: string | null; readonly email: string | null };

export const actorNamesOf = async (reads: Reads, event_id: string): Promise<ActorNames | null> => {
  const actor = (await describedEvent(reads, event_id))?.actor;
  return actor ? { name: actor.name, email: actor.email } : null;
};

const placeOfEvent = defineQuery((db, { tenant_id, id }: { tenant_id: string; id: string }) =>
  db.selectFrom('audit.audit_logs as entry').select('entry.place').where('entry.id', '=', id).where('entry.tenant_id', '=', tenant_id),
);

export const positionOfTenantEvent = async (reads: Reads, tenant_id: string, event_id: string): Promise<Position | null> => {
  const [entry] = await reads.rows(placeOfEvent, { tenant_id, id: event_id });
  return entry ? positionOfSortKey(entry.place!) : null;
};

/**
 * Returns the position and the time of the newest entry of a tenant; with `until`, of the newest entry up to and
 * including that position. Null if there is none.
 */
export const latestEntry = async (
  reads: Reads,
  tenant_id: string,
  until?: Position,
): Promise<{ readonly position: Position; readonly at: string } | null> => {
  const [newest] = await reads.rows(newestEntry, { tenant_id, until: until && sortKey(until) });
  if (!newest) return null;
  const { position, created_at } = JSON.parse(newest.doc) as Entry;
  return { position: parseToken(position)!, at: created_at };
};

const ENTRIES_PER_PAGE = 200;

const entryListUntil = defineList({ table, tieBreak: 'place' }, (db, { until, ...filter }: TenantEntries & { readonly until: string }) =>
  ofTenant(db.selectFrom('audit.audit_logs as entry').where('entry.place', '<=', until), filter),
);

/**
 * The entries of a tenant that an export contains: those up to and including the position `until` that match the
 * filter.
 */
export type ExportRange = { readonly tenant_id: string; readonly until: Position; readonly filter: AuditFilter };

/** Yields the entries of an export, the oldest first, in pages. Each page is a list of JSON texts. */
export async function* entriesUntil(reads: Reads, { tenant_id, until, filter }: ExportRange): AsyncGenerator<string[], void> {
  const window = { sort: { column: 'place', descending: false }, limit: ENTRIES_PER_PAGE };
  const args = { tenant_id, until: sortKey(until), ...withPattern(filter) };
  for await (const { body } of pagesOf(reads, entryListUntil, args, window)) {
    const entries = body.slice(1, -1);
    yield entries === '' ? [] : entries.split(DOC_SEPARATOR);
  }
}
