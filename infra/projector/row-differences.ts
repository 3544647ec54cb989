import type { ClientBase, Pool } from 'pg';
import type { ColumnType, Table } from '../../projections/table.ts';
import type { Log } from '../eventstore/event-log.ts';
import { quoteIdentifier } from '../postgres/pool.ts';
import { type Difference, SAMPLES_PER_COLUMN } from './compare-tables.ts';
import { shadowSchemaOf } from './open-projection.ts';
import { createTextMask, type MaskTexts, maskFor } from './text-mask.ts';

/**
 * A column in which a rebuilt row differs from the live row. If only one of the two rows exists, `column` is null, and
 * the value is the whole row. `live` and `rebuilt` are excerpts of the values; null if the column is null or the row
 * does not exist.
 */
export type RowDifference = {
  readonly table: string;
  readonly key: Readonly<Record<string, unknown>>;
  readonly column: string | null;
  readonly live: string | null;
  readonly rebuilt: string | null;
  /** The id of the event that last changed the row; null if the log no longer contains the event. */
  readonly last_event_id: string | null;
};

type Values = { readonly index: number; readonly column: string | null; readonly live: string | null; readonly rebuilt: string | null };

/** The maximum number of characters of an excerpt. */
const EXCERPT_LENGTH = 200;
/** If two values begin alike, the number of characters that an excerpt shows before their first difference. */
const EXCERPT_LEAD = 40;
/** The maximum number of characters that are read from the database for one value. */
const MAX_READ = 100_000;

const firstDifference = (one: string, other: string): number => {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
};

const excerpt = (value: string, from: number): string => {
  const start = from === 0 ? '' : '…';
  const rest = value.slice(from);
  const fits = start.length + rest.length <= EXCERPT_LENGTH;
  return (fits ? `${start}${rest}` : `${start}${rest.slice(0, EXCERPT_LENGTH - start.length - 1)}…`).toWellFormed();
};

/** Returns excerpts of two values. If the values are long, the excerpts show where they differ. */
export const excerptsOf = (live: string | null, rebuilt: string | null): { live: string | null; rebuilt: string | null } => {
  const isLong = Math.max(live?.length ?? 0, rebuilt?.length ?? 0) > EXCERPT_LENGTH;
  const from = isLong && live !== null && rebuilt !== null ? Math.max(0, firstDifference(live, rebuilt) - EXCERPT_LEAD) : 0;
  return { live: live === null ? null : excerpt(live, from), rebuilt: rebuilt === null ? null : excerpt(rebuilt, from) };
};

const sqlOf = (table: Table, live: string): string => {
  const name = (schema: string) => `${quoteIdentifier(schema)}.${quoteIdentifier(table.name)}`;
  const keys = table.key.map((key) => ({ key: quoteIdentifier(key), type: table.columns[key]! }));
  const columns = keys.map(({ key, type }) => `${key} ${type}`).join(', ');
  const isSame = (side: string) =>
    keys.map(({ key, type }) => `${side}.${key} = given.${key}${type === 'text' ? ' collate "C"' : ''}`).join(' and ');
  // The documents of a row are left out, because their fields are also columns of the row.
  const docs = `'{${Object.keys(table.docs).join(',')}}'::text[]`;
  const value = (side: string) =>
    `left(case when ":column" is null then (to_jsonb(${side}) - ${docs})::text else to_jsonb(${side}) ->> ":column" end, ${MAX_READ})`;
  return `
    select given.":index" as index, ":column" as "column", ${value('a')} as live, ${value('b')} as rebuilt
    from jsonb_to_recordset($1::jsonb) as given(":index" integer, ":columns" text[], ${columns})
    left join ${name(live)} a on ${isSame('a')} left join ${name(shadowSchemaOf(live))} b on ${isSame('b')}
    left join unnest(given.":columns") as unnested(":column") on true order by 1, 2`;
};

const isMissing = (error: { code?: string }): boolean => error.code === '42P01' || error.code === '3F000';

/**
 * Reads the present values of rows in the live schema and in the schema of the rebuild. Returns an empty list if the
 * rebuilt rows were dropped or promoted.
 */
const readValues = async (db: ClientBase | Pool, projection: string, table: Table, rows: readonly Difference[]): Promise<Values[]> => {
  const given = rows.map(({ key, columns }, index) => ({ ':index': index, ':columns': columns, ...key }));
  const found = await db.query<Values>(sqlOf(table, projection), [JSON.stringify(given)]).catch((error: { code?: string }) => {
    if (isMissing(error)) return { rows: [] };
    throw error;
  });
  return found.rows;
};

const eventIdOf = async (log: Log, touched: string): Promise<string | null> => {
  const at = touched.lastIndexOf('@');
  const from = Number(touched.slice(at + 1));
  try {
    for await (const { event_id } of log.read(touched.slice(0, at), { from, limit: 1 })) return event_id;
  } catch {
    // If the tenant was erased, its stream does not exist any more.
  }
  return null;
};

/** Masks the texts in a value that the database returned as text. A cut JSON value is masked as a single text. */
const maskValue = (value: string | null, type: ColumnType | undefined, mask: MaskTexts): string | null => {
  if (value === null || (type !== undefined && type !== 'text' && type !== 'jsonb')) return value;
  if (type === 'text') return String(mask(value));
  try {
    return JSON.stringify(mask(JSON.parse(value)));
  } catch {
    return String(mask(value));
  }
};

type Compared = { readonly projection: string; readonly tables: readonly Table[]; readonly sampled: readonly Difference[] };

/**
 * Reads the values of at most 20 rows in which a rebuild differs from the live rows: all columns that differ or, if
 * `column` is given, only this column. Values that have become equal since the comparison are left out. The texts of
 * tenants are masked.
 */
export const readRowDifferences = async (
  services: { readonly db: ClientBase | Pool; readonly log: Log },
  { projection, tables, sampled }: Compared,
  column: string | null,
): Promise<RowDifference[]> => {
  const rows = sampled
    .filter(({ columns }) => column === null || columns.includes(column))
    .slice(0, SAMPLES_PER_COLUMN)
    .map((row) => (column === null ? row : { ...row, columns: [column] }));
  const differences: RowDifference[] = [];
  const maskTexts = createTextMask();
  for (const table of tables) {
    const own = rows.filter((row) => row.table === table.name);
    if (own.length === 0) continue;
    const mask = maskFor(table, maskTexts);
    for (const { index, column: name, live, rebuilt } of await readValues(services.db, projection, table, own)) {
      if (live === rebuilt) continue;
      const { key, touched } = own[index]!;
      const last_event_id = await eventIdOf(services.log, touched);
      const type = name === null ? 'jsonb' : table.columns[name];
      const shown = excerptsOf(maskValue(live, type, mask), maskValue(rebuilt, type, mask));
      differences.push({ table: table.name, key: mask(key) as RowDifference['key'], column: name, ...shown, last_event_id });
    }
  }
  return differences;
};
