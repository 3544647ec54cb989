import type { RememberedEntry } from '../../domain/memory/agent-memory.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

/** The maximum number of entries that `rememberedAfter` returns. */
export const MAX_REMEMBERED_ROWS = 25;

const COLUMNS = ['entry.id', 'entry.sha256', 'entry.session_id', 'entry.created_by_id', 'entry.runner_key_id', 'entry.created_at'] as const;

/** `at` and `id` are the time and the id of the entry after which the list starts; undefined for the start of the list. */
type Selected = {
  readonly tenant_id: string;
  readonly agent_id: string;
  readonly at: string | undefined;
  readonly id: string | undefined;
};

const entriesAfter = (operator: '<' | '>', direction: 'desc' | 'asc') =>
  defineQuery((db, { tenant_id, agent_id, at, id }: Selected) =>
    db
      .selectFrom('memory.remembered as entry')
      .select(COLUMNS)
      .where('entry.tenant_id', '=', tenant_id)
      .where('entry.agent_id', '=', agent_id)
      .$if(at !== undefined, (query) =>
        query.where(({ eb, refTuple, tuple }) => eb(refTuple('entry.created_at', 'entry.id'), operator, tuple(at!, id!))),
      )
      .orderBy('entry.created_at', direction)
      .orderBy('entry.id', direction)
      .limit(({ lit }) => lit(MAX_REMEMBERED_ROWS)),
  );
const newestFirst = entriesAfter('<', 'desc');
const oldestFirst = entriesAfter('>', 'asc');

type EntryRow = { readonly [Name in keyof RememberedEntry]: string | null };

const entryOf = ({ id, sha256, created_at, ...rest }: EntryRow): RememberedEntry => ({
  ...{ id: id!, sha256: sha256!, created_at: created_at! },
  ...rest,
});

/**
 * Returns the entries that an agent remembers, ordered by time and id, ascending or descending, and only those after
 * the entry with the time `at` and this id.
 */
export const rememberedAfter = async (
  reads: Reads,
  { descending, ...selected }: Selected & { readonly descending: boolean },
): Promise<RememberedEntry[]> => (await reads.rows(descending ? newestFirst : oldestFirst, selected)).map(entryOf);

const oneEntry = defineQuery((db, { tenant_id, agent_id, id }: { tenant_id: string; agent_id: string; id: string }) =>
  db
    .selectFrom('memory.remembered as entry')
    .select(COLUMNS)
    .where('entry.tenant_id', '=', tenant_id)
    .where('entry.id', '=', id)
    .where('entry.agent_id', '=', agent_id),
);

export const rememberedEntry = async (
  reads: Reads,
  entry: { readonly tenant_id: string; readonly agent_id: string; readonly id: string },
): Promise<RememberedEntry | null> => (await reads.rows(oneEntry, entry)).map(entryOf)[0] ?? null;
