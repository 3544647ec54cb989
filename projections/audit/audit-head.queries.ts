import type { Kysely } from 'kysely';
import type { z } from 'zod';
import * as AuditHead from '../../domain/audit/audit-head.ts';
import { PLATFORM, type Position, positionOfSortKey } from '../../domain/event.ts';
import type { Database } from '../database.ts';
import { defineList, defineQuery } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { actionOf } from './audit-entry.ts';
import { type SignedHead, type TreeBefore, table } from './audit-head.ts';

export const HEAD_SORTS = ['size'];

const headList = defineList({ table }, (db, { tenant_id, version }: { tenant_id: string; version: number }) =>
  db.selectFrom('auditheads.heads as head').where('head.tenant_id', '=', tenant_id).where('head.version', '=', version),
);

/** Returns a page of the signed heads of a tenant in the tree of this version, as SignedHead. */
export const headPage = (reads: Reads, tenant_id: string, version: AuditHead.HeadVersion, window: PageWindow): Promise<Page> =>
  reads.page(headList, { tenant_id, version }, window);

const firstHeadFrom = defineQuery((db, { tenant_id, place }: { tenant_id: string; place: string }) =>
  db
    .selectFrom('auditheads.heads as head')
    .where('head.tenant_id', '=', tenant_id)
    .where('head.version', '=', AuditHead.HEAD_VERSION)
    .where('head.place', '>=', place)
    .orderBy('head.place')
    .select(['head.doc', 'head.tree', 'head.place'])
    .limit(({ lit }) => lit(1)),
);

/** A signed head, the tree before it, and the sort key of the position of the head's last entry. */
export type CoveringHead = {
  readonly head: z.output<typeof SignedHead>;
  readonly before: AuditHead.TreeBefore;
  readonly place: string;
};

type HeadRow = { readonly doc: string; readonly tree: string; readonly place: string | null };

const coveringHead = ([found]: readonly HeadRow[]): CoveringHead | null =>
  found
    ? {
        head: JSON.parse(found.doc) as z.output<typeof SignedHead>,
        before: (JSON.parse(found.tree) as z.output<typeof TreeBefore>).before,
        place: found.place!,
      }
    : null;

/**
 * Returns the first signed head that covers an entry; null if none does. `place` is the sort key of the entry's
 * position.
 */
export const headCovering = async (reads: Reads, tenant_id: string, place: string): Promise<CoveringHead | null> =>
  coveringHead(await reads.rows(firstHeadFrom, { tenant_id, place }));

const lastHead = defineQuery((db, { tenant_id }: { tenant_id: string }) =>
  db
    .selectFrom('auditheads.heads as head')
    .where('head.tenant_id', '=', tenant_id)
    .where('head.version', '=', AuditHead.HEAD_VERSION)
    .orderBy('head.place', 'desc')
    .select(['head.doc', 'head.tree', 'head.place'])
    .limit(({ lit }) => lit(1)),
);

export const newestHead = async (reads: Reads, tenant_id: string): Promise<CoveringHead | null> =>
  coveringHead(await reads.rows(lastHead, { tenant_id }));

/** The maximum number of heads that a query for heads to anchor returns. */
export const MAX_HEADS_TO_ANCHOR = 100;

const unanchored = defineQuery((db, _: object) =>
  db
    .selectFrom('auditheads.heads as head')
    .where('head.unanchored_since', 'is not', null)
    .orderBy('head.unanchored_since')
    .orderBy('head.size')
    .select(['head.tenant_id', 'head.id', 'head.doc'])
    .limit(({ lit }) => lit(MAX_HEADS_TO_ANCHOR)),
);

type HeadToAnchor = Pick<z.output<typeof SignedHead>, 'version' | 'size' | 'root' | 'position' | 'at' | 'signature' | 'key_id'> & {
  readonly head_id: string;
  readonly tenant_id: string;
};

/**
 * Returns the oldest signed heads that the receiver at AUDIT_ANCHOR_URL does not have yet, in all tenants, at most
 * MAX_HEADS_TO_ANCHOR.
 */
export const headsToAnchor = async (reads: Pick<Reads, 'rows'>): Promise<HeadToAnchor[]> =>
  (await reads.rows(unanchored, {})).map(({ tenant_id, id: head_id, doc }) => {
    const { version, size, root, position, at, signature, key_id } = JSON.parse(doc) as z.output<typeof SignedHead>;
    return { head_id, tenant_id, version, size, root, position, at, signature, key_id };
  });

const leaves = defineQuery((db, { tenant_id, after, until }: { tenant_id: string; after: string; until: string }) =>
  db
    .selectFrom('audit.audit_logs as entry')
    .where('entry.tenant_id', '=', tenant_id)
    .where('entry.place', '>', after)
    .where('entry.place', '<=', until)
    .orderBy('entry.place')
    .select(['entry.leaf_hash', 'entry.place'])
    .limit(({ lit }) => lit(AuditHead.MAX_HEAD_ENTRIES)),
);

/** Returns the leaf hashes of a tenant's entries between two sort keys, in log order, at most MAX_HEAD_ENTRIES. */
export const leavesBetween = async (
  reads: Pick<Reads, 'rows'>,
  tenant_id: string,
  after: string,
  until: string,
): Promise<{ leaf: string; place: string }[]> =>
  (await reads.rows(leaves, { tenant_id, after, until })).map(({ leaf_hash, place }) => ({ leaf: leaf_hash!, place: place! }));

/** The number of tenants that one query checks for entries that no head covers. */
const TENANTS_PER_QUERY = 500;

const unsignedCounts = defineQuery((db, { after }: { after: string }) =>
  db
    .selectFrom((eb) =>
      eb
        .selectFrom('audit.audit_counts as counted')
        .where('counted.tenant_id', '>', after)
        .orderBy('counted.tenant_id')
        .select(['counted.tenant_id', 'counted.lines'])
        .limit(eb.lit(TENANTS_PER_QUERY))
        .as('entries'),
    )
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('auditheads.heads as head')
          .whereRef('head.tenant_id', '=', 'entries.tenant_id')
          .where('head.version', '=', AuditHead.HEAD_VERSION)
          .orderBy('head.size', 'desc')
          .select(['head.size', 'head.at'])
          .limit(eb.lit(1))
          .as('last'),
      (join) => join.onTrue(),
    )
    .orderBy('entries.tenant_id')
    .select(['entries.tenant_id', 'entries.lines', 'last.size', 'last.at']),
);

/**
 * `due` are the ids of those checked tenants that need a new head. `next` is the id of the last checked tenant; null if
 * there are no more tenants.
 */
export type CheckedTenants = { readonly due: readonly string[]; readonly next: string | null };

/**
 * Checks the tenants whose ids come after `after`. An entry is unsigned if no head covers it. A tenant with
 * MAX_HEAD_ENTRIES or more unsigned entries needs a new head. A tenant with fewer, but at least one, needs it if it has
 * no head, or if its last head was signed at or before `before` (RFC 3339 UTC).
 */
export const tenantsWithUnsignedEntries = async (reads: Pick<Reads, 'rows'>, before: string, after = ''): Promise<CheckedTenants> => {
  const rows = await reads.rows(unsignedCounts, { after });
  const due = rows.filter(({ tenant_id, lines, size, at }) => {
    const unsigned = Number(lines) - Number(size ?? 0);
    const isOld = at === null || Date.parse(at) <= Date.parse(before);
    return tenant_id !== PLATFORM && unsigned > 0 && (unsigned >= AuditHead.MAX_HEAD_ENTRIES || isOld);
  });
  return { due: due.map(({ tenant_id }) => tenant_id), next: rows.length === TENANTS_PER_QUERY ? rows.at(-1)!.tenant_id : null };
};

/** Selects audited events of a tenant. `from` and `to` are sort keys; both are inclusive. */
export type EntrySelection = {
  readonly tenant_id: string;
  readonly from: string;
  readonly to: string;
  readonly type?: string | undefined;
  readonly request_id?: string | undefined;
  readonly category?: string | undefined;
};

type PlaceFilter = Omit<EntrySelection, 'type'> & { readonly action: string | undefined; readonly limit: number };

const placesIn =
  (direction: 'asc' | 'desc') =>
  (db: Kysely<Database>, { tenant_id, from, to, action, request_id, category, limit }: PlaceFilter) =>
    db
      .selectFrom('audit.audit_logs as entry')
      .where('entry.tenant_id', '=', tenant_id)
      .where('entry.place', '>=', from)
      .where('entry.place', '<=', to)
      .$if(action !== undefined, (query) => query.where('entry.action', '=', action!))
      .$if(request_id !== undefined, (query) => query.where('entry.request_id', '=', request_id!))
      .$if(category !== undefined, (query) => query.where('entry.category', '=', category!))
      .orderBy('entry.place', direction)
      .select('entry.place')
      .limit(limit);

const entryPlaces = { oldest: defineQuery(placesIn('asc')), newest: defineQuery(placesIn('desc')) };

export const EVENT_ORDERS = ['oldest', 'newest'] as const;
export type EventOrder = (typeof EVENT_ORDERS)[number];

/** Returns the positions of the selected events, in log order or with the newest first. */
export const positionsOf = async (
  reads: Reads,
  { type, ...selection }: EntrySelection,
  limit: number,
  order: EventOrder = 'oldest',
): Promise<Position[]> => {
  const action = type === undefined ? undefined : actionOf(type);
  return (await reads.rows(entryPlaces[order], { ...selection, action, limit })).map(({ place }) => positionOfSortKey(place!));
};

const firstOrLast =
  (direction: 'asc' | 'desc') =>
  (db: Kysely<Database>, { tenant_id, time }: { tenant_id: string; time: string }) =>
    db
      .selectFrom('audit.audit_logs as entry')
      .select('entry.place')
      .where('entry.tenant_id', '=', tenant_id)
      .where('entry.created_at', direction === 'asc' ? '>=' : '<=', time)
      .orderBy('entry.created_at', direction)
      .orderBy('entry.place', direction)
      .limit(({ lit }) => lit(1));

const entryAtTime = { oldest: defineQuery(firstOrLast('asc')), newest: defineQuery(firstOrLast('desc')) };

/**
 * Returns the sort key of the entry at which a list begins: the first entry at or after `time`. In the order `newest`,
 * it is the last entry at or before `time`. Null if there is no such entry.
 */
export const placeAtTime = async (reads: Reads, tenant_id: string, time: string, order: EventOrder): Promise<string | null> =>
  (await reads.rows(entryAtTime[order], { tenant_id, time }))[0]?.place ?? null;

/** The maximum number of effects of one event that are returned. */
export const MAX_EFFECTS = 100;

const effectPlaces = defineQuery((db, { tenant_id, cause_id }: { tenant_id: string; cause_id: string }) =>
  db
    .selectFrom('audit.audit_logs as entry')
    .where('entry.cause_id', '=', cause_id)
    .where('entry.tenant_id', '=', tenant_id)
    .orderBy('entry.place')
    .select('entry.place')
    .limit(({ lit }) => lit(MAX_EFFECTS)),
);

/**
 * Returns the positions of the events of the tenant that this event has caused, at most the first MAX_EFFECTS of them.
 */
export const effectsOf = async (reads: Reads, tenant_id: string, cause_id: string): Promise<Position[]> =>
  (await reads.rows(effectPlaces, { tenant_id, cause_id })).map(({ place }) => positionOfSortKey(place!));
