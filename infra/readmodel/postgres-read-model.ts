import type { Logger } from 'pino';
import { Refusal } from '../../domain/refusal.ts';
import { readCursor, type SortValue, writeCursor } from '../../projections/cursor.ts';
import type { Page, Reads, Source } from '../../projections/read-model.ts';
import { isUnavailable, openPool } from '../postgres/pool.ts';
import { createLookupBatcher, type Run } from './batched-lookups.ts';
import { type CheckpointWatch, watchCheckpoints } from './checkpoint-watch.ts';
import type { bodyOf, PageRow, pageStatements } from './page-queries.ts';
import { coalesce } from './query-queue.ts';

/**
 * Whether a query failed because the schema or table does not exist, has another shape, or was dropped while the query
 * was starting.
 */
const isMissing = (error: unknown): boolean =>
  ['42P01', '3F000', '42703', '0A000'].includes((error as { code?: string }).code ?? '') ||
  /could not open relation/.test((error as Error).message);

const unavailable = (retryAfter: number) => new Refusal('unavailable', 'The read models cannot be reached: try again.', { retryAfter });

const docOf = ({ table }: Source, doc = Object.keys(table.docs)[0]): string => {
  if (!doc || !(doc in table.docs)) throw new Error(`table ${table.name} has no document ${doc}`);
  return doc;
};

/**
 * The maximum number of page queries that run at the same time. More would compete for the database server's
 * processors. Identical queries that wait in the queue can share one result.
 */
const MAX_CONCURRENT_PAGES = 3;

/** The time limit for a query, and for the time that a read may wait in the queue. */
const READ_TIMEOUT_MS = 5_000;

/**
 * The query builder consists of many files. To start faster, it is loaded only after this delay, or earlier if a page
 * is read.
 */
const LOAD_BUILDER_DELAY_MS = 1_500;

const pageBuilder = () => {
  let loading: Promise<{ bodyOf: typeof bodyOf; statementOf: ReturnType<typeof pageStatements> }> | undefined;
  const load = () => {
    loading ??= import('./page-queries.ts').then((pages) => ({ bodyOf: pages.bodyOf, statementOf: pages.pageStatements() }));
    return loading;
  };
  setTimeout(load, LOAD_BUILDER_DELAY_MS).unref();
  return load;
};

export type PostgresReads = Reads & { readonly healthy: () => boolean; readonly close: () => Promise<void> };

/**
 * Opens the read models in Postgres. Does not throw. While the database is unavailable, or takes longer than five
 * seconds to answer, reads throw Refusal unavailable. Each read tries again. The positions of the projections come from
 * `positions`, by default a new watch of the database's checkpoints. `close` closes it too.
 */
export const createReads = async (databaseUrl: string, logger: Logger, positions?: CheckpointWatch): Promise<PostgresReads> => {
  const pool = openPool(databaseUrl, logger, 'reads', { max: 6, queryTimeoutMs: READ_TIMEOUT_MS });
  const checkpoints = positions ?? (await watchCheckpoints(databaseUrl, logger));
  const loadBuilder = pageBuilder();

  const run: Run = async <R>(query: Parameters<Run>[0]) => {
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
  const late = { ms: READ_TIMEOUT_MS, error: () => unavailable(5) };
  const lookUp = createLookupBatcher(run, late);
  const coalescePages = coalesce<Page>(MAX_CONCURRENT_PAGES, late);

  return {
    one: async (from, key, doc) => {
      const found = await lookUp(from, key, docOf(from, doc));
      return found && { doc: found.value as string, revision: from.table.stream ? found.revision : null };
    },
    page: async (query) => {
      const place = readCursor(query);
      const { bodyOf, statementOf } = await loadBuilder();
      const { name, text, values: valuesOf } = statementOf(query, place);
      const values = valuesOf(query, place);
      return coalescePages(JSON.stringify([name, values]), async () => {
        let [row] = await run<PageRow>({ name, text, values });
        if (row!.held < row!.found) {
          const measured = statementOf(query, place, true);
          [row] = await run<PageRow>({ name: measured.name, text: measured.text, values: measured.values(query, place) });
        }
        const more = row!.found > Math.min(row!.held, query.limit);
        return { body: bodyOf(row!, query.limit), next: more ? writeCursor([row!.value as SortValue, row!.id!]) : null };
      });
    },
    counter: async (from, key, column) => ((await lookUp(from, key, column))?.value as number | null | undefined) ?? 0,
    passed: (projection, token, ms = 2_000) => checkpoints.passed(projection, token, ms),
    position: checkpoints.position,
    healthy: checkpoints.healthy,
    close: async () => {
      await checkpoints.close();
      await pool.end();
    },
  };
};
