import type { SelectQueryBuilder } from 'kysely';
import { type Position, parseToken, sortKey } from '../../domain/event.ts';
import type { Database, RowOf } from '../database.ts';
import { defineList, defineQuery } from '../query.ts';
import { byKey, DOC_SEPARATOR, type Page, type PageWindow, pagesOf, type Reads, tenantCount } from '../read-model.ts';
import { audit, auditCounter, platformTable, table } from './audit-log.ts';

/** The filters of an audit log. The time `from` is inclusive, `to` is exclusive. */
export type AuditFilter = {
  readonly action?: string | undefined;
  readonly actor?: string | undefined;
  readonly resource_type?: string | undefined;
  readonly resource_id?: string | undefined;
  readonly agent_id?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

type Entries = SelectQueryBuilder<Database & { entry: RowOf<typeof table> }, 'entry', object>;

const filtered = (entries: Entries, { action, actor, resource_type, resource_id, agent_id, from, to }: AuditFilter): Entries =>
  entries
    .$if(action !== undefined, (query) => query.where('entry.action', '=', action!))
    .$if(actor !== undefined, (query) => query.where('entry.actor_id', '=', actor!))
    .$if(resource_type !== undefined, (query) => query.where('entry.resource_type', '=', resource_type!))
    .$if(resource_id !== undefined, (query) => query.where('entry.resource_id', '=', resource_id!))
    .$if(agent_id !== undefined, (query) => query.where('entry.agent_id', '=', agent_id!))
    .$if(from !== undefined, (query) => query.where('entry.created_at', '>=', from!))
    .$if(to !== undefined, (query) => query.where('entry.created_at', '<', to!));

const auditList = defineList({ table, tieBreak: 'place' }, (db, { tenant_id, ...filter }: AuditFilter & { readonly tenant_id: string }) =>
  filtered(db.selectFrom('audit.audit_logs as entry').where('entry.tenant_id', '=', tenant_id), filter),
);

const platformAuditList = defineList({ table: platformTable, tieBreak: 'place' }, (db, filter: AuditFilter) =>
  filtered(db.selectFrom('audit.platform_audit_logs as entry'), filter),
);

/** Returns a page of the audit log of one tenant, or of the platform if `tenant_id` is null. */
export const auditPage = (reads: Reads, tenant_id: string | null, filter: AuditFilter, window: PageWindow): Promise<Page> =>
  tenant_id === null ? reads.page(platformAuditList, filter, window) : reads.page(auditList, { tenant_id, ...filter }, window);

/** Returns the number of entries in the audit log of the tenant. */
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

type Entry = { readonly position: string; readonly created_at: string };

/**
 * Returns the log position of the tenant's last event at or before a time, as a consistency token; null if there is no
 * such event.
 */
export const positionAt = async (reads: Reads, tenant_id: string, time: string): Promise<string | null> => {
  const [last] = await reads.rows(newestEntry, { tenant_id, time });
  return last ? (JSON.parse(last.doc) as Entry).position : null;
};

/** Returns the log position of an event; null if the audit log has no entry for it. */
export const positionOfEvent = async (reads: Reads, event_id: string): Promise<Position | null> => {
  const entry = await byKey<Entry, typeof table>(reads, { projection: audit.name, table }, { id: event_id });
  return entry && parseToken(entry.position);
};

/**
 * Returns position and time of the newest entry of a tenant. With `until`, of the newest entry up to and including that
 * position. Null if there is none.
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

const entryListUntil = defineList({ table, tieBreak: 'place' }, (db, { tenant_id, until }: { tenant_id: string; until: string }) =>
  db.selectFrom('audit.audit_logs as entry').where('entry.tenant_id', '=', tenant_id).where('entry.place', '<=', until),
);

/**
 * Returns the entries of a tenant up to and including a position, the oldest first. Each page is a list of JSON texts.
 */
export async function* entriesUntil(reads: Reads, tenant_id: string, until: Position): AsyncGenerator<string[], void> {
  const window = { sort: { column: 'place', descending: false }, limit: ENTRIES_PER_PAGE };
  for await (const { body } of pagesOf(reads, entryListUntil, { tenant_id, until: sortKey(until) }, window)) {
    const entries = body.slice(1, -1);
    yield entries === '' ? [] : entries.split(DOC_SEPARATOR);
  }
}
