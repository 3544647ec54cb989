// limit: 240
import type pg from 'pg';
import * as assert from 'uvu/assert';
import { readsOver } from '../../infra/readmodel/postgres-read-model.ts';
import type { Reads } from '../../projections/read-model.ts';
import { PLAN_CASES } from '../fixtures/plan-cases.ts';
import { QUERY_CASES } from '../fixtures/query-cases.ts';
import { fillTables } from '../fixtures/query-data.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const ROWS = 20_000;
const ROWS_PER_TENANT = ROWS / 20;
/**
 * The maximum number of rows that a query may read for a page of 50 items. It needs one more row than that, which shows
 * that there is a next page. For a filter that most rows pass, reading up to five times as many rows is acceptable.
 */
const ROWS_PER_PAGE = 255;
/** For the platform: all open deliveries and the agent of each. */
const MAY_READ = { page: ROWS_PER_PAGE, tenant: ROWS_PER_TENANT * 2, platform: ROWS * 2 + ROWS_PER_PAGE };

type Plan = {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
};
type Statement = { name: string; text: string; values: unknown[] };

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** Returns the number of rows that a plan reads from tables and indexes, including the rows that it discards. */
const rowsRead = (plan: Plan): number =>
  nodesOf(plan)
    .filter((node) => /Scan$/.test(node['Node Type']) && !/Function|Subquery|CTE|Bitmap Index/.test(node['Node Type']))
    .reduce((sum, node) => {
      const each = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
      return sum + each * node['Actual Loops'];
    }, 0);

/**
 * Runs a statement with EXPLAIN and returns its plan. In the mode `custom`, PostgreSQL plans for these values; in the
 * mode `generic`, for any values. After several executions, PostgreSQL may change from custom to generic plans, so both
 * must be good.
 */
const explain = async (client: pg.Client, { name, text, values }: Statement, mode: 'custom' | 'generic'): Promise<Plan> => {
  await client.query(`set plan_cache_mode = force_${mode}_plan`);
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>({
    name: `${mode}_${name}`.slice(0, 63),
    text: `explain (analyze, timing off, format json) ${text}`,
    values,
  });
  return rows[0]!['QUERY PLAN'][0].Plan;
};

test('with 20,000 rows of 20 tenants, no query scans a table without an index or reads more rows than its page needs', async () => {
  const client = await fillTables(await freshDatabase(), ROWS);
  const problems: string[] = [];
  let found = 0;
  let label = '';
  let mayRead = 0;
  const run = async <R>(statement: Statement): Promise<R[]> => {
    for (const mode of ['custom', 'generic'] as const) {
      const plan = await explain(client, statement, mode);
      const scanned = nodesOf(plan).find((node) => node['Node Type'] === 'Seq Scan');
      if (scanned) problems.push(`${label}, ${mode} plan: reads a table without an index`);
      if (rowsRead(plan) > mayRead) problems.push(`${label}, ${mode} plan: reads ${rowsRead(plan)} rows`);
    }
    await client.query('set plan_cache_mode = auto');
    const { rows } = await client.query(statement.text, statement.values);
    if ((rows[0]?.found ?? rows.length) > 0) found++;
    return rows as R[];
  };
  let calls = 0;
  for (const [name, cases] of [...Object.entries(QUERY_CASES), ...Object.entries(PLAN_CASES)])
    for (const [kind, query] of Object.entries(cases)) {
      calls++;
      label = `${name}: ${kind}`;
      mayRead = MAY_READ[query.rows];
      await query.run(readsOver(run) as Reads);
    }
  await client.end();
  assert.equal(problems, []);
  assert.ok(found > calls * 0.8, `only ${found} of ${calls} calls found a row`);
});

test.run();
