import type { ClientBase, QueryConfig } from 'pg';
import type { Table } from '../../projections/table.ts';
import { quoteIdentifier } from '../postgres/pool.ts';

/** For each column, the maximum number of recorded rows that differ in this column. */
export const SAMPLES_PER_COLUMN = 20;
/** The maximum number of recorded rows. They are chosen from at most MAX_CANDIDATES differing rows. */
const MAX_SAMPLES = 200;
const MAX_CANDIDATES = 100_000;
/**
 * The time limit for comparing two tables, in milliseconds. Comparing large tables can take very long, so it is the
 * longest delay that a timer supports.
 */
const COMPARE_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * A row that differs between two schemas of a projection. If only one schema has the row, `only` names that schema. If
 * both have it, `columns` lists the columns that differ. `touched` is the event that last changed the row, as
 * `<stream>@<revision>`.
 */
export type Difference = {
  readonly table: string;
  readonly key: Record<string, string>;
  readonly only: 'old' | 'new' | null;
  readonly columns: readonly string[];
  readonly touched: string;
};

/**
 * The result of comparing tables. `rows` is the number of all rows, and `differing` of those that differ. `shown` lists
 * some differing rows, beginning with rows that differ in different columns, so that they show every kind of
 * difference.
 */
export type Comparison = { readonly rows: number; readonly differing: number; readonly shown: readonly Difference[] };

const columnsOf = (table: Table): string[] => [
  ...Object.keys(table.columns).filter((name) => !table.key.includes(name)),
  ...(table.counters ?? []),
  ...Object.keys(table.docs),
  'revision',
];

const sqlOf = (table: Table, oldSchema: string, newSchema: string): string => {
  const keys = table.key.map(quoteIdentifier);
  const same = keys.map((key) => `a.${key} = b.${key}`).join(' and ');
  const key = table.key.map((name) => `'${name}', coalesce(a.${quoteIdentifier(name)}, b.${quoteIdentifier(name)})`).join(', ');
  const missing = `a.${keys[0]} is null or b.${keys[0]} is null`;
  const differs = columnsOf(table).map(
    (name) => `case when a.${quoteIdentifier(name)} is distinct from b.${quoteIdentifier(name)} then '${name}' end`,
  );
  const changed = columnsOf(table).map((name) => `a.${quoteIdentifier(name)} is distinct from b.${quoteIdentifier(name)}`);
  return `
    with joined as (
      select jsonb_build_object(${key}) as key, coalesce(b.touched, a.touched) as touched,
        case when b.${keys[0]} is null then 'old' when a.${keys[0]} is null then 'new' end as "only",
        array_remove(array[${differs.join(', ')}]::text[], null) as columns,
        ${missing} or ${changed.join(' or ')} as differs
      from ${quoteIdentifier(oldSchema)}.${quoteIdentifier(table.name)} a full join ${quoteIdentifier(newSchema)}.${quoteIdentifier(table.name)} b on ${same}
    ), candidates as (
      select key, "only", case when "only" is null then columns else '{}' end as columns, touched from joined where differs limit ${MAX_CANDIDATES}
    ), ranked as (
      select candidates.*, row_number() over (partition by name order by key) as rank from candidates left join unnest(columns) as name on true
    ), sampled as (
      select key, "only", columns, touched, min(rank) as rank from ranked where rank <= ${SAMPLES_PER_COLUMN} group by 1, 2, 3, 4
      order by rank, key limit ${MAX_SAMPLES}
    )
    select (select count(*)::integer from joined) as rows, (select count(*)::integer from joined where differs) as differing,
      (select coalesce(jsonb_agg(to_jsonb(sampled) - 'rank' order by rank, key), '[]') from sampled) as shown`;
};

/** Compares the tables of two schemas row by row, in one database snapshot. Both schemas have the same tables. */
export const compareTables = async (
  db: ClientBase,
  tables: readonly Table[],
  oldSchema: string,
  newSchema: string,
): Promise<Comparison> => {
  await db.query('begin isolation level repeatable read read only');
  try {
    await db.query('set local enable_seqscan = on; set local statement_timeout = 0');
    let total: Comparison = { rows: 0, differing: 0, shown: [] };
    for (const table of tables) {
      const { rows } = await db.query<Comparison>({
        text: sqlOf(table, oldSchema, newSchema),
        query_timeout: COMPARE_TIMEOUT_MS,
      } as QueryConfig);
      const { rows: count, differing, shown } = rows[0]!;
      total = {
        rows: total.rows + count,
        differing: total.differing + differing,
        shown: [...total.shown, ...shown.map((difference) => ({ ...difference, table: table.name }))].slice(0, MAX_SAMPLES),
      };
    }
    return total;
  } finally {
    await db.query('rollback').catch(() => {});
  }
};
