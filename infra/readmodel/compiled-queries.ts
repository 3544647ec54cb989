import { type Compilable, DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import { escapeText } from '../../projections/column-values.ts';
import type { CursorKey } from '../../projections/cursor.ts';
import { bodyOf, page } from '../../projections/page.ts';
import type { ListQuery, Query, QueryArgs } from '../../projections/query.ts';
import type { PageWindow } from '../../projections/read-model.ts';
import { arrayText, preparedStatement } from '../postgres/pool.ts';

/** Has no database connection: it only compiles SQL, which runs as prepared statements. */
const builder = new Kysely<never>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** A statement with its values. If `name` is empty, the database does not keep the statement after running it. */
export type BoundStatement = { readonly name: string; readonly text: string; readonly values: unknown[] };

/** An entry of `slots` is the name of an argument, or a constant value. */
type Statement = {
  readonly name: string;
  readonly text: string;
  readonly slots: readonly (Placeholder | { readonly constant: unknown })[];
};

type Placeholder = { readonly argument: string };
const isPlaceholder = (value: unknown): value is Placeholder => typeof value === 'object' && value !== null && 'argument' in value;

const MAX_LIMIT = 1_000;
/** The maximum number of shapes of one query that are cached. */
const MAX_SHAPES = 1_000;
/**
 * A connection keeps every named statement until it is closed, and callers choose sort column, limit and filters: without this limit, they
 * could fill the memory of the database.
 */
const MAX_NAMED = 500;

/** The sort key of the previous page's last row, as internal arguments: no list may have parameters with these names. */
const AFTER = { value: 'after value', id: 'after id' } as const;

const placeholdersOf = (args: QueryArgs): QueryArgs =>
  Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, value === undefined || value === null ? value : { argument: name }]),
  ) as QueryArgs;

/** The shape says which arguments are set and which are null. Queries of one shape have the same statement. */
const shapeOf = (args: QueryArgs): string => {
  let shape = '';
  for (const name in args) {
    const value = args[name];
    if (value !== undefined) shape += value === null ? `${name}=null,` : `${name},`;
  }
  return shape;
};

const statementOf = (query: Compilable, names: Set<string>): Statement => {
  const { sql, parameters } = query.compile();
  const { name, text } = preparedStatement(sql);
  if (names.size < MAX_NAMED) names.add(name);
  return {
    name: names.has(name) ? name : '',
    text,
    slots: parameters.map((value) => (isPlaceholder(value) ? value : { constant: value })),
  };
};

const boundValue = (value: unknown): unknown => {
  if (typeof value === 'string') return escapeText(value);
  return Array.isArray(value) ? arrayText(value.map(escapeText)) : value;
};

const bind = ({ name, text, slots }: Statement, args: QueryArgs, after: CursorKey | null): BoundStatement => ({
  name,
  text,
  values: slots.map((slot) => {
    if (!isPlaceholder(slot)) return slot.constant;
    if (slot.argument === AFTER.value) return boundValue(after![0]);
    return boundValue(slot.argument === AFTER.id ? after![1] : args[slot.argument]);
  }),
});

const cached = (statements: WeakMap<object, Map<string, Statement>>, query: object, shape: string, compile: () => Statement): Statement => {
  const known = statements.get(query) ?? new Map<string, Statement>();
  if (known.size === 0) statements.set(query, known);
  const found = known.get(shape);
  if (found) return found;
  if (known.size >= MAX_SHAPES) known.clear();
  const compiled = compile();
  known.set(shape, compiled);
  return compiled;
};

export type PageRequest = {
  readonly window: PageWindow;
  /** The decoded cursor of `window`. */
  readonly after: CursorKey | null;
  /** Whether the documents of the page may be too large, so that their sizes must be added up. */
  readonly isMeasured: boolean;
};

const pageQuery = <Args extends QueryArgs>(list: ListQuery<Args>, args: Args, request: PageRequest): Compilable => {
  const { window, after, isMeasured } = request;
  const value = after && (after[0] === null ? null : { argument: AFTER.value });
  return page(builder, list, placeholdersOf(args) as Args, {
    sort: window.sort,
    limit: window.limit,
    after: after && { value, id: { argument: AFTER.id } },
    isMeasured,
  });
};

/** Caches one statement for each shape of a query: everything but the values of the arguments. */
export const compileQueries = () => {
  const statements = new WeakMap<object, Map<string, Statement>>();
  const names = new Set<string>();
  return {
    rows: <Args extends QueryArgs>(query: Query<Args, unknown>, args: Args): BoundStatement =>
      bind(
        cached(statements, query, shapeOf(args), () => statementOf(query.build(builder, placeholdersOf(args) as Args), names)),
        args,
        null,
      ),
    page: <Args extends QueryArgs>(list: ListQuery<Args>, args: Args, request: PageRequest): BoundStatement => {
      const { sort, limit } = request.window;
      if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) throw new Error(`a page of ${limit}`);
      const { after, isMeasured } = request;
      const start = after ? (after[0] === null ? 'null' : 'value') : '';
      const shape = `${sort.column} ${sort.descending} ${limit} ${start} ${isMeasured} ${shapeOf(args)}`;
      return bind(
        cached(statements, list, shape, () => statementOf(pageQuery(list, args, request), names)),
        args,
        after,
      );
    },
    bodyOf,
  };
};
