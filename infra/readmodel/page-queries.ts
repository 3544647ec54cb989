import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, type RawBuilder, sql } from 'kysely';
import { escapeText } from '../../projections/column-values.ts';
import { type CursorKey, columnType } from '../../projections/cursor.ts';
import { type Condition, DOC_SEPARATOR, PAGE_BYTES, type PageQuery } from '../../projections/read-model.ts';
import { arrayText, preparedStatement } from '../postgres/pool.ts';

/**
 * Compiles queries to SQL text only. It has no connection: the statements are run elsewhere, as prepared statements.
 */
const compiler = new Kysely<Record<string, Record<string, unknown>>>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/**
 * The result of a page query. `found` is the number of rows, including one row beyond the limit if there is a next
 * page. `body` contains the first `held` documents. `value` and `id` are the sort key of the page's last row.
 */
export type PageRow = { body: string | null; found: number; held: number; value: unknown; id: string | null };
export type PageStatement = {
  readonly name: string;
  readonly text: string;
  readonly values: (query: PageQuery, place: CursorKey | null) => unknown[];
};

type Slot = { readonly slot: number };
const isSlot = (value: unknown): value is Slot => typeof value === 'object' && value !== null && 'slot' in value;

const like = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`;

/**
 * The values in a query's conditions, in order. Queries of the same shape have the same statement and differ only in
 * these values.
 */
const valuesOf = (where: readonly Condition[]): unknown[] =>
  where.flatMap((condition): unknown[] => {
    if (condition.op === 'exists') return valuesOf(condition.where);
    if (condition.op === 'in') return [arrayText(condition.value.map(escapeText))];
    if (condition.op === 'contains') return [like(escapeText(condition.value))];
    if (condition.value === null) return [];
    return [typeof condition.value === 'string' ? escapeText(condition.value) : condition.value];
  });

const placeValues = (place: CursorKey | null): unknown[] => (place ? (place[0] === null ? [place[1]] : [...place]) : []);

/** The part of a query's conditions that determines the statement: everything except the values. */
const shapeOf = (where: readonly Condition[]): unknown =>
  where.map((condition) => {
    if (condition.op === 'exists') return ['exists', condition.table, condition.on, shapeOf(condition.where)];
    return [condition.op, condition.column, condition.op === '=' && condition.value === null];
  });

/**
 * Returns the documents of a page as a JSON array, with one document per line. A document beyond the limit is dropped:
 * it was only read to find out whether there is a next page.
 */
export const bodyOf = ({ body, held }: PageRow, limit: number): string =>
  `[${held > limit ? body!.slice(0, body!.lastIndexOf(DOC_SEPARATOR)) : (body ?? '')}]`;

const ref = (table: string, column: string): RawBuilder<unknown> => sql.ref(`${table}.${column}`);

const comparison = (condition: Condition, table: string, schema: string, slot: () => Slot): RawBuilder<boolean> => {
  if (condition.op === 'exists') {
    const other = `${table}_of`;
    const joined = Object.entries(condition.on).map(([theirs, ours]) => sql<boolean>`${ref(other, theirs)} = ${ref(table, ours)}`);
    const held = condition.where.map((one) => comparison(one, other, schema, slot));
    return sql`exists (select from ${sql.table(`${schema}.${condition.table}`)} as ${sql.raw(other)} where ${sql.join([...joined, ...held], sql` and `)})`;
  }
  if (condition.op === 'in') return sql`${ref(table, condition.column)} = any(${slot()}::text[])`;
  if (condition.op === 'contains') {
    const wanted = slot();
    const any = [condition.column].flat().map((column) => sql<boolean>`${ref(table, column)} collate "default" ilike ${wanted}`);
    return sql`(${sql.join(any, sql` or `)})`;
  }
  if (condition.value === null) return condition.op === '=' ? sql`${ref(table, condition.column)} is null` : sql`false`;
  return sql`${ref(table, condition.column)} ${sql.raw(condition.op)} ${slot()}`;
};

/**
 * The condition for the rows that come after the previous page's last row. `place` is that row's sort key. In
 * PostgreSQL's order, null is greater than any value.
 */
const behind = ({ from, sort, tieBreak = 'id' }: PageQuery, place: CursorKey | null, slot: () => Slot): RawBuilder<boolean> | null => {
  if (!place) return null;
  const [value, id] = [ref('held', sort.column), ref('held', tieBreak)];
  const order = sql.raw(sort.descending ? '<' : '>');
  if (place[0] === null) {
    const rest = sql<boolean>`${value} is null and ${id} ${order} ${slot()}`;
    return sort.descending ? sql`((${rest}) or ${value} is not null)` : sql`(${rest})`;
  }
  const type = sql.raw(columnType(from, sort.column));
  const after = sql<boolean>`(${value}, ${id}) ${order} (${slot()}::${type}, ${slot()}::text)`;
  return sort.descending ? after : sql`(${after} or ${value} is null)`;
};

/**
 * The query for a page, in one of two forms. The fast form leaves out documents larger than their share of the page
 * size. If it finds such a document, which is rare, `held` is less than `found`, and the page is read again with
 * `isMeasured`. The measured form adds up the sizes of the documents, which takes a sixth more time.
 */
const aggregated = (page: RawBuilder<unknown>, limit: number, isMeasured: boolean): RawBuilder<PageRow> => {
  const between = sql.lit(DOC_SEPARATOR);
  const last = sql.lit(limit);
  if (!isMeasured) {
    const held = sql`filter (where octet_length(doc) <= ${sql.lit(Math.floor(PAGE_BYTES / (limit + 1)))})`;
    return sql`select string_agg(doc, ${between}) ${held} as body, count(*)::integer as found, (count(*) ${held})::integer as held,
    (array_agg(value))[${last}] as value, (array_agg(id))[${last}] as id from (${page}) as page`;
  }
  const held = sql`filter (where at = 1 or at <= ${last} and upto <= ${sql.lit(PAGE_BYTES)})`;
  return sql`select string_agg(doc, ${between}) ${held} as body, count(*)::integer as found, (count(*) ${held})::integer as held,
    (array_agg(value))[count(*) ${held}] as value, (array_agg(id))[count(*) ${held}] as id
    from (select doc, value, id, row_number() over before as at, sum(octet_length(doc)) over before as upto
      from (${page}) as page window before as (rows unbounded preceding)) as page`;
};

const compile = (query: PageQuery, place: CursorKey | null, isMeasured: boolean): PageStatement => {
  const { from, where, sort, tieBreak = 'id', limit } = query;
  const doc = query.doc ?? Object.keys(from.table.docs)[0];
  if (!doc || !(doc in from.table.docs)) throw new Error(`table ${from.table.name} has no document ${doc}`);
  let slots = 0;
  const slot = (): Slot => ({ slot: slots++ });
  const direction = sql.raw(sort.descending ? 'desc' : 'asc');
  const conditions = where.map((condition) => comparison(condition, 'held', from.projection, slot));
  const next = behind(query, place, slot);
  if (from.table.softDelete) conditions.push(sql`${ref('held', from.table.softDelete)} is not true`);
  if (next) conditions.push(next);
  if (conditions.length === 0) conditions.push(sql`true`);
  const page = sql`select ${ref('held', doc)} as doc, ${ref('held', sort.column)} as value, ${ref('held', tieBreak)} as id
    from ${sql.table(`${from.projection}.${from.table.name}`)} as held where ${sql.join(conditions, sql` and `)}
    order by ${ref('held', sort.column)} ${direction}, ${ref('held', tieBreak)} ${direction} limit ${sql.lit(limit + 1)}`;
  const compiled = aggregated(page, limit, isMeasured).compile(compiler);
  return {
    ...preparedStatement(compiled.sql),
    values: (asked, at) => {
      const values = [...valuesOf(asked.where), ...placeValues(at)];
      return compiled.parameters.map((parameter) => (isSlot(parameter) ? values[parameter.slot] : parameter));
    },
  };
};

const MAX_LIMIT = 1_000;
const MAX_SHAPES = 2_000;

/**
 * Returns a function that compiles page queries and caches one statement per shape. `isMeasured` is true for a page
 * whose documents may be too large to fit.
 */
export const pageStatements = (): ((query: PageQuery, place: CursorKey | null, isMeasured?: boolean) => PageStatement) => {
  const known = new Map<string, PageStatement>();
  return (query, place, isMeasured = false) => {
    const { from, doc, sort, tieBreak, limit } = query;
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) throw new Error(`a page of ${limit}`);
    const behindNull = place && (place[0] === null ? 'null' : 'value');
    const shape = JSON.stringify([
      from.projection,
      from.table.name,
      from.table.softDelete,
      doc,
      sort,
      tieBreak,
      limit,
      behindNull,
      isMeasured,
      shapeOf(query.where),
    ]);
    const cached = known.get(shape);
    if (cached) return cached;
    if (known.size >= MAX_SHAPES) known.clear();
    const compiled = compile(query, place, isMeasured);
    known.set(shape, compiled);
    return compiled;
  };
};
