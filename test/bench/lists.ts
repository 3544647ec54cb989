import { pino } from 'pino';
import { createReads, type PostgresReads } from '../../infra/readmodel/postgres-read-model.ts';
import { agents } from '../../projections/agents/agent.ts';
import { QUERY_CASES } from '../fixtures/query-cases.ts';
import { fillTables } from '../fixtures/query-data.ts';
import { freshDatabase } from '../fixtures/test-services.ts';

const SMALL = 10_000;
const ROUNDS = 15;
const CALLS = 200;
const { agentPage: CASES } = QUERY_CASES;

/** The median time of a call in microseconds, for the small and for the large database. */
export type ListFigures = { readonly name: string; readonly small: number; readonly large: number };

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

const openFilled = async (rows: number): Promise<PostgresReads> => {
  const databaseUrl = await freshDatabase();
  await (await fillTables(databaseUrl, rows, [agents])).end();
  return createReads(databaseUrl, pino({ level: 'silent' }));
};

const timeOf = async (reads: PostgresReads, run: (reads: PostgresReads) => unknown): Promise<number> => {
  const startedAt = performance.now();
  for (let call = 0; call < CALLS; call++) await run(reads);
  return ((performance.now() - startedAt) / CALLS) * 1_000;
};

/** Measures the pages of agents of one of 20 tenants, with 10,000 agents and with `count` agents, in alternation. */
export const listBench = async (count: number): Promise<ListFigures[]> => {
  const [small, large] = [await openFilled(SMALL), await openFilled(count)];
  const figures: ListFigures[] = [];
  for (const [name, { run, rows }] of Object.entries(CASES!)) {
    if (rows !== 'page') continue;
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
