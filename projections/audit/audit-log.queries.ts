import { type Position, parseToken, sortKey } from '../../domain/event.ts';
import { byKey, type Condition, DOC_SEPARATOR, type Page, type PageWindow, type Reads } from '../read-model.ts';
import { audit, auditCounter, platformTable, table } from './audit-log.ts';

export type AuditFilter = {
  action?: string | undefined;
  actor?: string | undefined;
  resource_type?: string | undefined;
  resource_id?: string | undefined;
  agent_id?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

const conditions = ({ from, to, actor, ...exact }: AuditFilter): Condition[] => [
  ...Object.entries(exact).flatMap(([column, value]): Condition[] => (value === undefined ? [] : [{ column, op: '=', value }])),
  ...(actor === undefined ? [] : [{ column: 'actor_id', op: '=', value: actor } as const]),
  ...(from === undefined ? [] : [{ column: 'created_at', op: '>=', value: from } as const]),
  ...(to === undefined ? [] : [{ column: 'created_at', op: '<', value: to } as const]),
];

/**
 * Returns a page of the audit log of one tenant, or of the platform if `tenant_id` is null. The filter time `from` is
 * inclusive, `to` is exclusive.
 */
export const auditPage = (reads: Reads, tenant_id: string | null, filter: AuditFilter, window: PageWindow): Promise<Page> =>
  reads.page({
    from: { projection: audit.name, table: tenant_id === null ? platformTable : table },
    where: [...(tenant_id === null ? [] : [{ column: 'tenant_id', op: '=', value: tenant_id } as const]), ...conditions(filter)],
    tieBreak: 'place',
    ...window,
  });

/** Returns the number of entries in the audit log of the tenant. */
export const auditCount = (reads: Reads, tenant_id: string): Promise<number> => auditCounter.read(reads, audit.name, tenant_id);

/**
 * Returns the log position of the tenant's last event at or before a time, as a consistency token; null if there is no
 * such event.
 */
export const positionAt = async (reads: Reads, tenant_id: string, time: string): Promise<string | null> => {
  const where: Condition[] = [
    { column: 'tenant_id', op: '=', value: tenant_id },
    { column: 'created_at', op: '<=', value: time },
  ];
  const newest = { column: 'created_at', descending: true };
  const page = await reads.page({ from: { projection: audit.name, table }, where, sort: newest, tieBreak: 'place', limit: 1 });
  const [last] = JSON.parse(page.body) as { position: string }[];
  return last?.position ?? null;
};

/** Returns the log position of an event; null if the audit log has no entry for it. */
export const positionOfEvent = async (reads: Reads, event_id: string): Promise<Position | null> => {
  const entry = await byKey<{ position: string }>(reads, { projection: audit.name, table }, { id: event_id });
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
  const upTo: Condition[] = until ? [{ column: 'place', op: '<=', value: sortKey(until) }] : [];
  const where: Condition[] = [{ column: 'tenant_id', op: '=', value: tenant_id }, ...upTo];
  const sort = { column: 'place', descending: true };
  const page = await reads.page({ from: { projection: audit.name, table }, where, sort, tieBreak: 'place', limit: 1 });
  const [newest] = JSON.parse(page.body) as { position: string; created_at: string }[];
  return newest ? { position: parseToken(newest.position)!, at: newest.created_at } : null;
};

const ENTRIES_PER_PAGE = 200;

/**
 * Returns the entries of a tenant up to and including a position, the oldest first. Each page is a list of JSON texts.
 */
export async function* entriesUntil(reads: Reads, tenant_id: string, until: Position): AsyncGenerator<string[], void> {
  const where: Condition[] = [
    { column: 'tenant_id', op: '=', value: tenant_id },
    { column: 'place', op: '<=', value: sortKey(until) },
  ];
  const sort = { column: 'place', descending: false };
  const query = { from: { projection: audit.name, table }, where, sort, tieBreak: 'place', limit: ENTRIES_PER_PAGE };
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Page = await reads.page({ ...query, cursor });
    const entries = page.body.slice(1, -1);
    yield entries === '' ? [] : entries.split(DOC_SEPARATOR);
    cursor = page.next;
  }
}
