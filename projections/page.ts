import { type AliasNode, type Expression, type Kysely, type SelectQueryBuilder, type SelectQueryNode, sql } from 'kysely';
import type { ListQuery, QueryArgs } from './query.ts';
import { DOC_SEPARATOR, PAGE_BYTES, type PageWindow } from './read-model.ts';

/**
 * The result of a page query. `found` is the number of rows, including one row beyond the limit if there is a next
 * page. `body` contains the first `held` documents. `value` and `id` are the sort key of the page's last row.
 */
export type PageRow = { body: string | null; found: number; held: number; value: unknown; id: string | null };

type Tables = Record<string, Record<string, unknown>>;
type Rows = SelectQueryBuilder<Tables, string, object>;

/**
 * What a page query depends on besides the arguments of its list. `after` is the sort key of the last row of the
 * previous page; its parts may be placeholders. With `isMeasured`, the query adds up the sizes of the documents.
 */
export type PageShape = {
  readonly sort: PageWindow['sort'];
  readonly limit: number;
  readonly after: { readonly value: unknown; readonly id: unknown } | null;
  readonly isMeasured: boolean;
};

/** Returns the name by which the query refers to the table in its `from` clause. */
const aliasOf = (rows: Rows): string => {
  const [first] = (rows.toOperationNode() as SelectQueryNode).from!.froms as [AliasNode];
  const { alias } = first;
  if (first.kind !== 'AliasNode' || !('name' in alias)) throw new Error('a list must name its table: selectFrom(<table> as <name>)');
  return alias.name as string;
};

type SortKey = { readonly value: string; readonly id: string; readonly descending: boolean };

/**
 * Divides the rows after the last row of the previous page into ranges of the sort order, so that an index on the sort
 * column can find the start of each range. For PostgreSQL, null is greater than any other value: rows without a value
 * come last in ascending order, and first in descending order.
 */
const rangesAfter = (rows: Rows, { value, id, descending }: SortKey, after: PageShape['after']): [Rows] | [Rows, Rows] => {
  if (!after) return [rows];
  const operator = descending ? '<' : '>';
  if (after.value === null) {
    const nulls = rows.where(value, 'is', null).where(id, operator, after.id);
    return descending ? [nulls, rows.where(value, 'is not', null)] : [nulls];
  }
  const others = rows.where(({ eb, refTuple, tuple }) => eb(refTuple(value, id), operator, tuple(after.value, after.id)));
  return descending ? [others] : [others, rows.where(value, 'is', null)];
};

/** Selects the rows of a page in order, and one more row if there is a next page. */
const pageRows = (db: Kysely<Tables>, list: ListQuery<never>, rows: Rows, { sort, limit, after }: PageShape) => {
  const { table, doc, tieBreak, includesDeleted } = list;
  const alias = aliasOf(rows);
  const key: SortKey = { value: `${alias}.${sort.column}`, id: `${alias}.${tieBreak}`, descending: sort.descending };
  const direction = sort.descending ? 'desc' : 'asc';
  const { softDelete } = table;
  const [first, second] = rangesAfter(rows, key, after).map((range) =>
    range
      .$if(softDelete !== undefined && !includesDeleted, (query) => query.where(`${alias}.${softDelete}`, 'is not', true))
      .select([`${alias}.${doc} as doc`, `${key.value} as value`, `${key.id} as id`])
      .orderBy(key.value, direction)
      .orderBy(key.id, direction)
      .limit(({ lit }) => lit(limit + 1)),
  );
  if (!second) return first!;
  const both = db
    .selectFrom(first!.as('first'))
    .selectAll()
    .unionAll(db.selectFrom(second.as('second')).selectAll());
  return db
    .selectFrom(both.as('row'))
    .selectAll()
    .orderBy('row.value', direction)
    .orderBy('row.id', direction)
    .limit(({ lit }) => lit(limit + 1));
};

/**
 * Builds the query for one page of a list. It adds the condition for rows after the cursor, the order, the limit and
 * the filter for soft-deleted rows, and joins the documents to one text. There are two forms. The fast form leaves out
 * documents that are larger than their share of the page size. In the rare case that it does, `held` is less than
 * `found`, and the page must be read again with `isMeasured`. That form adds up the sizes of the documents, which takes
 * a sixth more time.
 */
export const page = <Args extends QueryArgs>(db: Kysely<never>, list: ListQuery<Args>, args: Args, shape: PageShape) => {
  const tables = db as unknown as Kysely<Tables>;
  const rows = pageRows(tables, list, list.build(db, args) as unknown as Rows, shape);
  return shape.isMeasured ? joinMeasured(tables, rows, shape) : joinFast(tables, rows, shape);
};

/**
 * Returns one element of the array of a column's values, which has the order of the rows on the page. It is a template,
 * because Kysely has no expression for an element of an array.
 */
const elementOf = (column: 'value' | 'id', index: Expression<unknown>) => sql`(array_agg(${sql.ref(`page.${column}`)}))[${index}]`;

const joinFast = (db: Kysely<Tables>, rows: ReturnType<typeof pageRows>, { limit }: PageShape) =>
  db.selectFrom(rows.as('page')).select(({ fn, cast, lit, val }) => {
    const size = fn<number>('octet_length', ['page.doc']);
    const share = lit(Math.floor(PAGE_BYTES / (limit + 1)));
    return [
      fn
        .agg<string | null>('string_agg', ['page.doc', val(DOC_SEPARATOR)])
        .filterWhere(size, '<=', share)
        .as('body'),
      cast<number>(fn.countAll(), 'integer').as('found'),
      cast<number>(fn.countAll().filterWhere(size, '<=', share), 'integer').as('held'),
      elementOf('value', lit(limit)).as('value'),
      elementOf('id', lit(limit)).as('id'),
    ];
  });

/**
 * Builds the slow form of a page query, which adds up the sizes of the documents (see `page`). The window functions are
 * templates, because Kysely has no window frames.
 */
const joinMeasured = (db: Kysely<Tables>, rows: ReturnType<typeof pageRows>, { limit }: PageShape) => {
  const numbered = db
    .selectFrom(rows.as('row'))
    .select(['row.doc as doc', 'row.value as value', 'row.id as id'])
    .select([
      sql<number>`row_number() over (rows unbounded preceding)`.as('index'),
      sql<number>`sum(octet_length("row"."doc")) over (rows unbounded preceding)`.as('bytes'),
    ]);
  return db.selectFrom(numbered.as('page')).select(({ fn, cast, lit, val, eb, or, and }) => {
    const fits = or([eb('page.index', '=', 1), and([eb('page.index', '<=', lit(limit)), eb('page.bytes', '<=', lit(PAGE_BYTES))])]);
    const held = fn.countAll().filterWhere(fits);
    return [
      fn
        .agg<string | null>('string_agg', ['page.doc', val(DOC_SEPARATOR)])
        .filterWhere(fits)
        .as('body'),
      cast<number>(fn.countAll(), 'integer').as('found'),
      cast<number>(held, 'integer').as('held'),
      elementOf('value', held).as('value'),
      elementOf('id', held).as('id'),
    ];
  });
};

/**
 * Returns the documents of a page as a JSON array with one document per line. A document beyond the limit, which only
 * shows that there is a next page, is left out.
 */
export const bodyOf = ({ body, held }: PageRow, limit: number): string =>
  `[${held > limit ? body!.slice(0, body!.lastIndexOf(DOC_SEPARATOR)) : (body ?? '')}]`;
