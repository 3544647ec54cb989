import type pg from 'pg';
import type { Logger } from 'pino';
import { Refusal } from '../../domain/refusal.ts';
import { columnType, readCursorKey, type SortValue, writeCursor } from '../../projections/cursor.ts';
import type { PageRow } from '../../projections/page.ts';
import type { Query, QueryArgs } from '../../projections/query.ts';
import type { Page, Reads, Source } from '../../projections/read-model.ts';
import { isUnavailable, openPool } from '../postgres/pool.ts';
import { createLookupBatcher, type Run } from './batched-lookups.ts';
import { type CheckpointWatch, watchCheckpoints } from './checkpoint-watch.ts';
import type { BoundStatement, compileQueries } from './compiled-queries.ts';
import { coalesce } from './query-queue.ts';

/** True if the schema, a table or a column does not exist, or changed while the query was starting. */
const isMissing = (error: unknown): boolean =>
  ['42P01', '3F000', '42703', '0A000'].includes((error as { code?: string }).code ?? '') ||
  /could not open relation/.test((error as Error).message);

const unavailable = (retryAfter: number) => new Refusal('unavailable', 'The read models cannot be reached: try again.', { retryAfter });

const docOf = ({ table }: Source, doc = Object.keys(table.docs)[0]): string => {
  if (!doc || !(doc in table.docs)) throw new Error(`table ${table.name} has no document ${doc}`);
  return doc;
};

/** Look-ups do not count. More would compete for the database's processors. Identical waiting queries share one result. */
const MAX_CONCURRENT_QUERIES = { total: 3, perOwner: 2 };

/** The time limit in milliseconds for a query. It is also the maximum time that a read may wait in the queue. */
const READ_TIMEOUT_MS = 5_000;

/** The query builder is loaded after this many milliseconds, or for the first list: it has many files, and would delay the start. */
const LOAD_BUILDER_DELAY_MS = 1_500;

const loadWhenIdle = (): (() => Promise<ReturnType<typeof compileQueries>>) => {
  let loading: Promise<ReturnType<typeof compileQueries>> | undefined;
  const load = () => {
    loading ??= import('./compiled-queries.ts').then(({ compileQueries }) => compileQueries());
    return loading;
  };
  setTimeout(load, LOAD_BUILDER_DELAY_MS).unref();
  return load;
};

export type PostgresReads = Reads &
  Pick<CheckpointWatch, 'noteEvent'> & { readonly healthy: () => boolean; readonly close: () => Promise<void> };

/** All but the functions for the positions of the projections. `run` runs a statement. */
export const readsOver = (run: Run): Omit<Reads, 'passed' | 'position' | 'behindMs'> => {
  const loadQueries = loadWhenIdle();
  const late = { ms: READ_TIMEOUT_MS, error: () => unavailable(5) };
  const lookUp = createLookupBatcher(run, late);
  const coalesceQueries = coalesce<unknown>(MAX_CONCURRENT_QUERIES, late);
  const share = <T>({ tenant_id = '' }: QueryArgs, { name, text, values }: BoundStatement, work: () => Promise<T>): Promise<T> =>
    coalesceQueries(String(tenant_id), JSON.stringify([name || text, values]), work) as Promise<T>;

  return {
    one: async (from, key, doc) => {
      const found = await lookUp(from, key, docOf(from, doc));
      return found && { doc: found.value as string, revision: from.table.stream ? found.revision : null };
    },
    page: async (list, args, window): Promise<Page> => {
      const { limit, sort, cursor } = window;
      const after = readCursorKey(cursor, columnType(list.table, sort.column), sort);
      const queries = await loadQueries();
      const statement = queries.page(list, args, { window, after, isMeasured: false });
      return share(args, statement, async () => {
        let [row] = await run<PageRow>(statement);
        if (row!.held < row!.found) [row] = await run<PageRow>(queries.page(list, args, { window, after, isMeasured: true }));
        const more = row!.found > Math.min(row!.held, limit);
        return { body: queries.bodyOf(row!, limit), next: more ? writeCursor([row!.value as SortValue, row!.id!], sort) : null };
      });
    },
    rows: async <Args extends QueryArgs, Row>(query: Query<Args, Row>, args: Args) => {
      const statement = (await loadQueries()).rows(query, args);
      return share(args, statement, () => run<Row>(statement));
    },
    counter: async (from, key, column) => ((await lookUp(from, key, column))?.value as number | null | undefined) ?? 0,
  };
};

/** @throws Refusal unavailable if the database cannot be reached or the tables do not exist yet */
const runOn =
  (pool: pg.Pool): Run =>
  async <R>(query: Parameters<Run>[0]) => {
    for (let repeats = 0; ; repeats++) {
      try {
        return (await pool.query(query)).rows as R[];
      } catch (error) {
        if (isMissing(error) && repeats === 0) continue;
        if (isMissing(error)) throw unavailable(1);
        if (isUnavailable(error)) throw unavailable(5);
        throw error;
      }
    }
  };

/**
 * Opens the read models in Postgres, and throws nothing: while the database is unavailable, or takes longer than five
 * seconds to answer, each read throws Refusal unavailable, and later reads try again. The positions of the projections
 * come from `positions`; if absent, from a new watch of the database's checkpoints. `close` also closes the watch.
 */
export const createReads = async (databaseUrl: string, logger: Logger, positions?: CheckpointWatch): Promise<PostgresReads> => {
  const pool = openPool(databaseUrl, logger, 'reads', { max: 6, queryTimeoutMs: READ_TIMEOUT_MS });
  const checkpoints = positions ?? (await watchCheckpoints(databaseUrl, logger));
  return {
    ...readsOver(runOn(pool)),
    passed: (projection, token, ms = 2_000) => checkpoints.passed(projection, token, ms),
    position: checkpoints.position,
    behindMs: checkpoints.behindMs,
    noteEvent: checkpoints.noteEvent,
    healthy: checkpoints.healthy,
    close: async () => {
      await checkpoints.close();
      await pool.end();
    },
  };
};
