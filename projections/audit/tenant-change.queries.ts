import { type Position, positionOfSortKey, sortKey } from '../../domain/event.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

const MAX_ENTRIES = 500;

const newestEntriesAfter = defineQuery((db, { tenant_id, after }: { tenant_id: string; after: string }) =>
  db
    .selectFrom('audit.audit_logs as entry')
    .select(['entry.category', 'entry.place'])
    .where('entry.tenant_id', '=', tenant_id)
    .where('entry.place', '>', after)
    .orderBy('entry.place', 'desc')
    .limit(({ lit }) => lit(MAX_ENTRIES)),
);

/**
 * The categories of streams in which a tenant has new events, each with the position of its newest event. If there were
 * too many events to find all categories, `isComplete` is false.
 */
export type TenantChanges = { readonly newest: ReadonlyMap<string, Position>; readonly isComplete: boolean };

/** Returns what changed in a tenant after a log position, as far as the audit log shows it. */
export const changesAfter = async (reads: Reads, tenant_id: string, after: Position): Promise<TenantChanges> => {
  const entries = await reads.rows(newestEntriesAfter, { tenant_id, after: sortKey(after) });
  const newest = new Map<string, Position>();
  for (const { category, place } of entries) if (!newest.has(category!)) newest.set(category!, positionOfSortKey(place!));
  return { newest, isComplete: entries.length < MAX_ENTRIES };
};
