import pg from 'pg';
import * as assert from 'uvu/assert';
import { heldOfAllTenants } from '../../api/deliveries/held-deliveries.ts';
import { readsOver } from '../../infra/readmodel/postgres-read-model.ts';
import { heldByRules } from '../../projections/deliveries/held-groups.queries.ts';
import { openAgents, openQueuesOfAllTenants } from '../../projections/deliveries/open-deliveries.queries.ts';
import { readModelDatabase } from '../fixtures/template-database.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const TENANT = 't1';
const AGENTS = 150;

/** Creates a read model in which the agents with the highest ids have waited longest, and a rule holds each delivery. */
const readModel = async () => {
  const client = new pg.Client({ connectionString: await readModelDatabase() });
  await client.connect();
  afterTest(() => client.end());
  await client.query(
    `insert into deliveries.deliveries (tenant_id, id, agent_id, message_agent_id, outcome, unsettled, received_at, held_at,
       held_reason, held_rule, held_until, doc, list_doc, touched)
     select $1, 'd' || lpad(n::text, 3, '0'), 'a1', 'm' || lpad(n::text, 3, '0'), 'accepted', lpad((1000 - n)::text, 40, '0'), at, at,
       'rate', 'busy', '2026-01-01T00:00:00Z', '{}', '{}', 'x'
     from generate_series(1, $2::int) as n, lateral (select '2026-06-01T00:00:00.5Z'::timestamptz - n * interval '0.25 s' as at) as time`,
    [TENANT, AGENTS],
  );
  return readsOver(async <R>(statement: pg.QueryConfig) => (await client.query(statement)).rows as R[]);
};

const LONGEST_WAITING = Array.from({ length: 100 }, (_, n) => `m${String(AGENTS - n).padStart(3, '0')}`);

test('if there are more agents than are examined, those with the longest waiting deliveries are returned', async () => {
  const reads = await readModel();
  assert.equal(await openAgents(reads, { tenant_id: TENANT }), LONGEST_WAITING);
  const { queues, hasMore } = await openQueuesOfAllTenants(reads);
  assert.equal(
    queues.map(({ agent_id, count }) => [agent_id, count]),
    LONGEST_WAITING.map((agent_id) => [agent_id, 1]),
  );
  assert.ok(hasMore);
});

test('the example of a group of held deliveries is the one that was received first', async () => {
  const [group] = await heldByRules(await readModel(), { tenant_id: TENANT });
  assert.equal([group!.count, group!.example_id], [AGENTS, `d${AGENTS}`]);
});

const BUDGET_FAILURES: Readonly<Record<string, () => Promise<never>>> = {
  'fail to be read': () => Promise.reject(new Error('the event store is down')),
  'are not read in time': () => new Promise(() => {}),
};

for (const [what, spentQueues] of Object.entries(BUDGET_FAILURES))
  test(`while budgets ${what}, the totals of all tenants contain what rules hold, and no time that is over`, async () => {
    const reads = await readModel();
    const { budget, rate, hours } = await heldOfAllTenants({
      ...{ reads, contextOf: () => ({}) as never, states: { spentQueues } },
      readQueues: () => openQueuesOfAllTenants(reads),
    });
    assert.instance(budget, Error);
    assert.equal(
      [rate, hours],
      [
        { count: AGENTS, until: null },
        { count: 0, until: null },
      ],
    );
  });

test.run();
