import type { Logger } from 'pino';
import { Refusal } from '../../domain/refusal.ts';
import { readCursor, type SortValue, writeCursor } from '../../projections/cursor.ts';
import type { Page, Reads, Source } from '../../projections/read-model.ts';
import { isDown, openPool } from '../postgres/pool.ts';
import { createLookupBatcher, type Run } from './batched-lookups.ts';
import { watchCheckpoints } from './checkpoint-watch.ts';
import type { bodyOf, PageRow, pageStatements } from './page-queries.ts';
import { coalesce } from './query-queue.ts';

/** A schema or table that is not there, of another shape, or gone between planning and reading. */
const isMissing = (error: unknown): boolean =>
  ['42P01', '3F000', '42703', '0A000'].includes((error as { code?: string }).code ?? '') ||
  /could not open relation/.test((error as Error).message);

const unavailable = (retryAfter: number) => new Refusal('unavailable', 'The read models are out of reach for the moment.', { retryAfter });

const docOf = ({ table }: Source, doc = Object.keys(table.docs)[0]): string => {
  if (!doc || !(doc in table.docs)) throw new Error(`table ${table.name} has no document ${doc}`);
  return doc;
};

/** More at a time only take turns on the server; those that wait are answered together. */
const PAGES_AT_ONCE = 3;

/** So long a query may take, and so long a read that waits for its turn. */
const ANSWER_MS = 5_000;

/** The query builder is many files, which nothing that a start waits for needs: loaded so much later, or with the first page that is asked for. */
const BUILDER_MS = 1_500;

const pageBuilder = () => {
  let loading: Promise<{ bodyOf: typeof bodyOf; statementOf: ReturnType<typeof pageStatements> }> | undefined;
  const load = () => {
    loading ??= import('./page-queries.ts').then((pages) => ({ bodyOf: pages.bodyOf, statementOf: pages.pageStatements() }));
    return loading;
  };
  setTimeout(load, BUILDER_MS).unref();
  return load;
};

export type PostgresReads = Reads & { readonly healthy: () => boolean; readonly close: () => Promise<void> };

/**
 * Opens the read models in Postgres. Never throws: while the database is away every read is refused as unavailable, and the next one
 * after it has come back is answered. One that is there and does not answer is away too, for whoever has waited five seconds.
 */
export const createReads = async (databaseUrl: string, logger: Logger): Promise<PostgresReads> => {
  const pool = openPool(databaseUrl, logger, 'reads', { max: 6, answerMs: ANSWER_MS });
  const positions = await watchCheckpoints(databaseUrl, logger);
  const builder = pageBuilder();

  const run: Run = async <R>(query: Parameters<Run>[0]) => {
    for (let repeats = 0; ; repeats++) {
      try {
        return (await pool.query(query)).rows as R[];
      } catch (error) {
        if (isMissing(error) && repeats === 0) continue;
        if (isMissing(error)) throw unavailable(1);
        if (isDown(error)) throw unavailable(5);
        throw error;
      }
    }
  };
  const late = { ms: ANSWER_MS, error: () => unavailable(5) };
  const point = createLookupBatcher(run, late);
  const pages = coalesce<Page>(PAGES_AT_ONCE, late);

  return {
    one: async (from, key, doc) => {
      const found = await point(from, key, docOf(from, doc));
      return found && { doc: found.value as string, revision: from.table.stream ? found.revision : null };
    },
    page: async (query) => {
      const place = readCursor(query);
      const { bodyOf, statementOf } = await builder();
      const { name, text, values: valuesOf } = statementOf(query, place);
      const values = valuesOf(query, place);
      return pages(JSON.stringify([name, values]), async () => {
        let [row] = await run<PageRow>({ name, text, values });
        if (row!.held < row!.found) {
          const measured = statementOf(query, place, true);
          [row] = await run<PageRow>({ name: measured.name, text: measured.text, values: measured.values(query, place) });
        }
        const more = row!.found > Math.min(row!.held, query.limit);
        return { body: bodyOf(row!, query.limit), next: more ? writeCursor([row!.value as SortValue, row!.id!]) : null };
      });
    },
    counter: async (from, key, column) => ((await point(from, key, column))?.value as number | null | undefined) ?? 0,
    passed: (projection, token, ms = 2_000) => positions.passed(projection, token, ms),
    position: positions.position,
    healthy: positions.healthy,
    close: async () => {
      await positions.close();
      await pool.end();
    },
  };
};
