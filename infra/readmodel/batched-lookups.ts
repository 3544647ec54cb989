import { escapeText } from '../../projections/column-values.ts';
import type { Key } from '../../projections/projection.ts';
import type { Source } from '../../projections/read-model.ts';
import { arrayText, quoted, statement } from '../postgres/pool.ts';
import type { LateError } from './query-queue.ts';

/** One column of one row, and the row's revision. */
export type Lookup = { readonly value: unknown; readonly revision: number | null };
export type Run = <R>(query: { name: string; text: string; values: unknown[] }) => Promise<R[]>;

type Asked = { readonly resolve: (point: Lookup | null) => void; readonly reject: (error: unknown) => void };
/** What is asked together, by key. */
type Batch = Map<string, { key: Key; by: Asked[] }>;
/** Reads of one table and column by one key: those that wait to be asked together until `over`, and how many queries are under way. */
type Group = {
  readonly column: string;
  readonly names: readonly string[];
  readonly query: { name: string; text: string };
  waiting: Batch;
  over: NodeJS.Timeout | undefined;
  asked: number;
};

/** While so many queries are under way, more would only make each of them smaller. */
const MAX_BATCH = 2;

const sqlOf = ({ projection, table }: Source, names: readonly string[], column: string): { name: string; text: string } => {
  const keys = names.map(quoted);
  const wanted = `unnest(${names.map((_, index) => `$${index + 1}::text[]`).join(', ')}) with ordinality as wanted(${keys.join(', ')}, at)`;
  const same = keys.map((key) => `held.${key} = wanted.${key}`);
  const shown = table.softDelete ? [`held.${quoted(table.softDelete)} is not true`] : [];
  return statement(
    `select wanted.at::integer as at, found.value, found.revision from ${wanted} cross join lateral (select held.${quoted(column)} as value, held.revision` +
      ` from ${quoted(projection)}.${quoted(table.name)} held where ${[...same, ...shown].join(' and ')} limit 1) found`,
  );
};

const refuse = (batch: Batch, error: unknown): void => {
  for (const { by } of batch.values()) for (const { reject } of by) reject(error);
};

/**
 * Point reads: those of the same table and column that are asked for in one turn of the event loop, or while others are under way, are one
 * prepared query. `run` is given the statement and its values. Those that had to wait and have no answer `late.ms` after the first of them came
 * fail with `late.error`; those that are asked at once are answered when `run` gives up.
 */
export const createLookupBatcher = (run: Run, late: LateError): ((from: Source, key: Key, column: string) => Promise<Lookup | null>) => {
  const groups = new Map<Source['table'], Group[]>();

  const ask = async ({ names, query }: Group, waiting: Batch): Promise<void> => {
    const all = [...waiting.values()];
    const values = names.map((name) => arrayText(all.map(({ key }) => key[name])));
    try {
      const found = new Map((await run<Lookup & { at: number }>({ ...query, values })).map((row) => [row.at, row]));
      for (const [index, { by }] of all.entries()) for (const { resolve } of by) resolve(found.get(index + 1) ?? null);
    } catch (error) {
      refuse(waiting, error);
    }
  };
  const next = (group: Group): void => {
    if (group.waiting.size === 0 || group.asked >= MAX_BATCH) return;
    const { waiting, over } = group;
    group.waiting = new Map();
    group.asked++;
    void ask(group, waiting).finally(() => {
      clearTimeout(over);
      group.asked--;
      next(group);
    });
  };
  const expire = (group: Group, batch: Batch): void => {
    if (group.waiting === batch) group.waiting = new Map();
    refuse(batch, late.error());
  };
  const groupOf = (from: Source, names: readonly string[], column: string): Group => {
    const known = groups.get(from.table) ?? [];
    const same = known.find((one) => one.column === column && one.names.every((name, index) => name === names[index]));
    if (same) return same;
    const made: Group = { column, names, query: sqlOf(from, names, column), waiting: new Map(), over: undefined, asked: 0 };
    groups.set(from.table, [...known, made]);
    return made;
  };

  return async (from, key, column) => {
    const names = Object.keys(key);
    // No row bears a key that Postgres cannot hold: it would have been written out.
    if (names.some((name) => escapeText(key[name]!) !== key[name])) return null;
    const group = groupOf(from, names, column);
    const text = names.map((name) => key[name]).join('\0');
    if (group.waiting.size === 0) {
      setImmediate(next, group);
      group.over = group.asked < MAX_BATCH ? undefined : setTimeout(expire, late.ms, group, group.waiting);
    }
    return new Promise((resolve, reject) => {
      const one = group.waiting.get(text);
      if (one) one.by.push({ resolve, reject });
      else group.waiting.set(text, { key, by: [{ resolve, reject }] });
    });
  };
};
