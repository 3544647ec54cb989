import type { Key } from '../../projections/projection.ts';
import type { Source } from '../../projections/reads.ts';
import { escapeText } from '../../projections/values.ts';
import { arrayText, quoted, statement } from './pool.ts';

/** One column of one row, and the row's revision. */
export type Point = { readonly value: unknown; readonly revision: number | null };
export type Run = <R>(query: { name: string; text: string; values: unknown[] }) => Promise<R[]>;

type Asked = { readonly resolve: (point: Point | null) => void; readonly reject: (error: unknown) => void };
type Group = {
  readonly names: readonly string[];
  readonly query: { name: string; text: string };
  readonly asked: Map<string, { key: Key; by: Asked[] }>;
};

const sqlOf = ({ projection, table }: Source, names: readonly string[], column: string): { name: string; text: string } => {
  const keys = names.map(quoted);
  const wanted = `unnest(${names.map((_, index) => `$${index + 1}::text[]`).join(', ')}) with ordinality as wanted(${keys.join(', ')}, at)`;
  const same = keys.map((key) => `held.${key} = wanted.${key}`);
  const shown = table.hidden ? [`held.${quoted(table.hidden)} is not true`] : [];
  return statement(
    `select wanted.at::integer as at, found.value, found.revision from ${wanted} cross join lateral (select held.${quoted(column)} as value, held.revision` +
      ` from ${quoted(projection)}.${quoted(table.name)} held where ${[...same, ...shown].join(' and ')} limit 1) found`,
  );
};

/**
 * Point reads: those that are asked for in one turn of the event loop, of the same table and column, are one prepared query.
 * `run` is given the statement and its values.
 */
export const openPoints = (run: Run): ((from: Source, key: Key, column: string) => Promise<Point | null>) => {
  const statements = new Map<string, { name: string; text: string }>();
  let groups = new Map<string, Group>();

  const ask = async ({ names, query, asked }: Group): Promise<void> => {
    const all = [...asked.values()];
    const values = names.map((name) => arrayText(all.map(({ key }) => key[name])));
    try {
      const found = new Map((await run<Point & { at: number }>({ ...query, values })).map((row) => [row.at, row]));
      for (const [index, { by }] of all.entries()) for (const { resolve } of by) resolve(found.get(index + 1) ?? null);
    } catch (error) {
      for (const { by } of all) for (const { reject } of by) reject(error);
    }
  };
  const flush = (): void => {
    const turn = groups;
    groups = new Map();
    for (const group of turn.values()) void ask(group);
  };
  const groupOf = (from: Source, names: readonly string[], column: string): Group => {
    const shape = `${from.projection}.${from.table.name}.${column}(${names.join()})`;
    const query = statements.get(shape) ?? sqlOf(from, names, column);
    statements.set(shape, query);
    if (groups.size === 0) setImmediate(flush);
    const group = groups.get(shape) ?? { names, query, asked: new Map() };
    groups.set(shape, group);
    return group;
  };

  return async (from, key, column) => {
    const names = Object.keys(key);
    // No row bears a key that Postgres cannot hold: it would have been written out.
    if (names.some((name) => escapeText(key[name]!) !== key[name])) return null;
    const { asked } = groupOf(from, names, column);
    const text = names.map((name) => key[name]).join('\0');
    return new Promise((resolve, reject) => {
      const one = asked.get(text);
      if (one) one.by.push({ resolve, reject });
      else asked.set(text, { key, by: [{ resolve, reject }] });
    });
  };
};
