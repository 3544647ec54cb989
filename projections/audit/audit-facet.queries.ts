import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

/** The number of newest entries that are counted. */
export const MAX_COUNTED = 10_000;
const MAX_ACTORS = 100;

const newestEntries = defineQuery((db, { tenant_id }: { tenant_id: string }) =>
  db
    .selectFrom(
      db
        .selectFrom('audit.audit_logs as entry')
        .select(['entry.action', 'entry.actor_id', 'entry.place'])
        .where('entry.tenant_id', '=', tenant_id)
        .orderBy('entry.created_at', 'desc')
        .orderBy('entry.place', 'desc')
        .limit(({ lit }) => lit(MAX_COUNTED))
        .as('newest'),
    )
    .select(({ fn, cast }) => [
      'newest.action',
      'newest.actor_id',
      fn.max('newest.place').as('place'),
      cast<number>(fn.countAll(), 'integer').as('count'),
    ])
    .groupBy(['newest.action', 'newest.actor_id']),
);

const entriesAt = defineQuery((db, { tenant_id, places }: { tenant_id: string; places: readonly string[] }) =>
  db
    .selectFrom('audit.audit_logs as entry')
    .select(['entry.actor_id', 'entry.doc'])
    .where('entry.tenant_id', '=', tenant_id)
    .where(({ eb, fn, val }) => eb('entry.place', '=', fn.any(val(places)))),
);

type Counted = { readonly count: number; readonly place: string };

/** Adds up the counts of each key: the largest first, and equal ones in the order of their keys. */
const counted = (rows: readonly { key: string; count: number; place: string }[]): ReadonlyMap<string, Counted> => {
  const found = new Map<string, Counted>();
  for (const { key, count, place } of rows) {
    const before = found.get(key);
    found.set(key, { count: count + (before?.count ?? 0), place: before && before.place > place ? before.place : place });
  }
  return new Map([...found].toSorted(([a, one], [b, other]) => other.count - one.count || (a < b ? -1 : 1)));
};

export type AuditActor = { readonly kind: string; readonly id: string; readonly name: string | null };
type Actor = { readonly kind: string; readonly name: string | null; readonly email: string | null };

export type AuditFacets = {
  readonly actions: readonly { readonly action: string; readonly count: number }[];
  readonly actors: readonly (AuditActor & { readonly count: number })[];
  readonly counted: number;
};

/** Counts the newest entries of a tenant by action and by actor, at most MAX_COUNTED of them. */
export const auditFacets = async (reads: Reads, tenant_id: string): Promise<AuditFacets> => {
  const rows = await reads.rows(newestEntries, { tenant_id });
  const actions = counted(rows.map(({ action, count, place }) => ({ key: action!, count, place: place! })));
  const byActor = [...counted(rows.map(({ actor_id, count, place }) => ({ key: actor_id!, count, place: place! })))].slice(0, MAX_ACTORS);
  const entries = await reads.rows(entriesAt, { tenant_id, places: byActor.map(([, { place }]) => place) });
  const actors = new Map(entries.map(({ actor_id, doc }) => [actor_id, (JSON.parse(doc) as { actor: Actor }).actor]));
  return {
    actions: [...actions].map(([action, { count }]) => ({ action, count })),
    actors: byActor.map(([id, { count }]) => {
      const { kind = 'system', name = null, email = null } = actors.get(id) ?? {};
      return { kind, id, name: name ?? email, count };
    }),
    counted: rows.reduce((sum, { count }) => sum + count, 0),
  };
};
