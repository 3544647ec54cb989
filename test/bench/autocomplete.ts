import { pino } from 'pino';
import { createReads } from '../../infra/readmodel/postgres-read-model.ts';
import { agents } from '../../projections/agents/agent.ts';
import { findMentions } from '../../projections/autocomplete/mention.queries.ts';
import { TENANT } from '../fixtures/query-case.ts';
import { fillTables } from '../fixtures/query-data.ts';
import { freshDatabase } from '../fixtures/test-services.ts';

const CALLS = 300;
const LIMIT = 50;

/**
 * The texts to complete. The agents have names of the form `name <number> r<number>`. So some texts match all names,
 * some match a few and some match none.
 */
const TEXTS = ['', 'n', 'name', 'name 4999', 'name 77 r', 'ame', 'r0500', '4999 r', 'zzz', 'no such agent'];

/** The results for one text: the number of names found, and the duration of a call in milliseconds. */
export type CompletionFigures = { readonly text: string; readonly found: number; readonly p50: number; readonly p99: number };

/** Measures how long it takes to complete the names of agents in a tenant with `count` agents. */
export const autocompleteBench = async (count: number): Promise<CompletionFigures[]> => {
  const databaseUrl = await freshDatabase();
  const pool = await fillTables(databaseUrl, count, [agents]);
  await pool.query(`update agents.agents set tenant_id = $1`, [TENANT]);
  await pool.query('vacuum analyze agents.agents');
  await pool.end();
  const reads = await createReads(databaseUrl, pino({ level: 'silent' }));
  const figures: CompletionFigures[] = [];
  for (const text of TEXTS) {
    const times: number[] = [];
    let found = 0;
    for (let call = 0; call < CALLS; call++) {
      const startedAt = performance.now();
      found = (await findMentions(reads, 'agent', text, { tenant_id: TENANT }, LIMIT)).length;
      times.push(performance.now() - startedAt);
    }
    times.sort((one, other) => one - other);
    figures.push({ text, found, p50: times[CALLS / 2]!, p99: times[Math.floor(CALLS * 0.99)]! });
  }
  await reads.close();
  return figures;
};
