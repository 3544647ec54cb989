import { escapeText } from '../../projections/column-values.ts';
import type { Key } from '../../projections/projection.ts';
import type { Source } from '../../projections/read-model.ts';
import { arrayText, preparedStatement, quoteIdentifier } from '../postgres/pool.ts';
import type { LateError } from './query-queue.ts';

/** `value` is that of one column in one row; `revision` is the row's. */
export type Lookup = { readonly value: unknown; readonly revision: number | null };
export type Run = <R>(query: { name: string; text: string; values: unknown[] }) => Promise<R[]>;

type Caller = { readonly resolve: (found: Lookup | null) => void; readonly reject: (error: unknown) => void };
/** One query answers the batch. Look-ups of the same key share an entry. */
type Batch = Map<string, { key: Key; callers: Caller[] }>;
/** Look-ups of one column by the same key columns. `waiting` is sent next, and fails at `deadline`. `running` counts unanswered queries. */
type Group = {
  readonly column: string;
  readonly names: readonly string[];
  readonly query: { name: string; text: string };
  waiting: Batch;
  deadline: NodeJS.Timeout | undefined;
  running: number;
};

/** The maximum number of concurrent queries of a group. With more, each batch would only be smaller. */
const MAX_CONCURRENT = 2;

const sqlOf = ({ projection, table }: Source, names: readonly string[], column: string): { name: string; text: string } => {
  const keys = names.map(quoteIdentifier);
  const wanted = `unnest(${names.map((_, index) => `$${index + 1}::text[]`).join(', ')}) with ordinality as wanted(${keys.join(', ')}, at)`;
  const same = keys.map((key) => `stored.${key} = wanted.${key}`);
  const notDeleted = table.softDelete ? [`stored.${quoteIdentifier(table.softDelete)} is not true`] : [];
  return preparedStatement(
    `select wanted.at::integer as at, found.value, found.revision from ${wanted} cross join lateral (select stored.${quoteIdentifier(column)} as value, stored.revision` +
      ` from ${quoteIdentifier(projection)}.${quoteIdentifier(table.name)} stored where ${[...same, ...notDeleted].join(' and ')} limit 1) found`,
  );
};

const rejectAll = (batch: Batch, error: unknown): void => {
  for (const { callers } of batch.values()) for (const { reject } of callers) reject(error);
};

/**
 * Look-ups of one table and column share a prepared query if they arrive in one turn of the event loop, or while earlier queries run. A
 * batch that waits for these fails with `late.error` after `late.ms` milliseconds; for others, only `run` limits the time.
 */
export const createLookupBatcher = (run: Run, late: LateError): ((from: Source, key: Key, column: string) => Promise<Lookup | null>) => {
  const groups = new Map<Source['table'], Group[]>();

  const runBatch = async ({ names, query }: Group, batch: Batch): Promise<void> => {
    const all = [...batch.values()];
    const values = names.map((name) => arrayText(all.map(({ key }) => key[name])));
    try {
      const found = new Map((await run<Lookup & { at: number }>({ ...query, values })).map((row) => [row.at, row]));
      for (const [index, { callers }] of all.entries()) for (const { resolve } of callers) resolve(found.get(index + 1) ?? null);
    } catch (error) {
      rejectAll(batch, error);
    }
  };
  const startNext = (group: Group): void => {
    if (group.waiting.size === 0 || group.running >= MAX_CONCURRENT) return;
    const { waiting, deadline } = group;
    group.waiting = new Map();
    group.running++;
    void runBatch(group, waiting).finally(() => {
      clearTimeout(deadline);
      group.running--;
      startNext(group);
    });
  };
  const expire = (group: Group, batch: Batch): void => {
    if (group.waiting === batch) group.waiting = new Map();
    rejectAll(batch, late.error());
  };
  const groupOf = (from: Source, names: readonly string[], column: string): Group => {
    const known = groups.get(from.table) ?? [];
    const same = known.find((group) => group.column === column && group.names.every((name, index) => name === names[index]));
    if (same) return same;
    const created: Group = { column, names, query: sqlOf(from, names, column), waiting: new Map(), deadline: undefined, running: 0 };
    groups.set(from.table, [...known, created]);
    return created;
  };

  return async (from, key, column) => {
    const names = Object.keys(key);
    // PostgreSQL cannot store NUL and unpaired surrogates: stored keys are escaped, so such a key matches no row.
    if (names.some((name) => escapeText(key[name]!) !== key[name])) return null;
    const group = groupOf(from, names, column);
    const text = names.map((name) => key[name]).join('\0');
    if (group.waiting.size === 0) {
      setImmediate(startNext, group);
      group.deadline = group.running < MAX_CONCURRENT ? undefined : setTimeout(expire, late.ms, group, group.waiting);
    }
    return new Promise((resolve, reject) => {
      const same = group.waiting.get(text);
      if (same) same.callers.push({ resolve, reject });
      else group.waiting.set(text, { key, callers: [{ resolve, reject }] });
    });
  };
};
