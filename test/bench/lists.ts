import { pino } from 'pino';
import { createReads, type PostgresReads } from '../../infra/readmodel/postgres-read-model.ts';
import { agents } from '../../projections/agents/agent.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { jobsDueAt } from '../../projections/schedule/cron-job.queries.ts';
import { cronJobs } from '../../projections/schedule/cron-job.ts';
import { QUERY_CASES } from '../fixtures/query-cases.ts';
import { fillTables } from '../fixtures/query-data.ts';
import { freshDatabase } from '../fixtures/test-services.ts';

const SMALL = 10_000;
const ROUNDS = 15;
const CALLS = 200;
/** A time that is earlier than every time in the tables, so no job is due at it. */
const NOTHING_DUE = '2020-01-01T00:00:00.000Z';
const { agentPage: CASES } = QUERY_CASES;

/** The median durations of a call in microseconds, for a database with 10,000 rows per table and for a large one. */
export type SizeFigures = { readonly name: string; readonly small: number; readonly large: number };

type Call = (reads: PostgresReads) => unknown;

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

const openFilled = async (rows: number, projection: AnyProjection): Promise<PostgresReads> => {
  const databaseUrl = await freshDatabase();
  await (await fillTables(databaseUrl, rows, [projection])).end();
  return createReads(databaseUrl, pino({ level: 'silent' }));
};

const timeOf = async (reads: PostgresReads, run: Call): Promise<number> => {
  const startedAt = performance.now();
  for (let call = 0; call < CALLS; call++) await run(reads);
  return ((performance.now() - startedAt) / CALLS) * 1_000;
};

/**
 * Measures each call in two databases, in turn: one with 10,000 rows in each table of a projection, and one with
 * `count` rows.
 */
const compareSizes = async (projection: AnyProjection, count: number, calls: Readonly<Record<string, Call>>): Promise<SizeFigures[]> => {
  const [small, large] = [await openFilled(SMALL, projection), await openFilled(count, projection)];
  const figures: SizeFigures[] = [];
  for (const [name, run] of Object.entries(calls)) {
    const times: { small: number[]; large: number[] } = { small: [], large: [] };
    for (let round = 0; round < ROUNDS; round++) {
      times.small.push(await timeOf(small, run));
      times.large.push(await timeOf(large, run));
    }
    figures.push({ name, small: median(times.small), large: median(times.large) });
  }
  await Promise.all([small.close(), large.close()]);
  return figures;
};

/** Measures the queries for pages of agents. The agents belong to 20 tenants; each query reads those of one tenant. */
export const listBench = (count: number): Promise<SizeFigures[]> => {
  const pages = Object.entries(CASES!).filter(([, { rows }]) => rows === 'page');
  return compareSizes(agents, count, Object.fromEntries(pages.map(([name, { run }]) => [name, run])));
};

/** Measures the query that the scheduler runs every second, in the case that no job is due. */
export const idleSchedulerBench = (count: number): Promise<SizeFigures[]> =>
  compareSizes(cronJobs as unknown as AnyProjection, count, {
    'jobs due, of which there are none': (reads) => jobsDueAt(reads, NOTHING_DUE),
  });
