import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { usageCounting } from '../../infra/billing/count-usage.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';
import { createRunner } from '../fixtures/console-sessions.ts';
import { silentLogger, waitUntil } from '../fixtures/live-projections.ts';
import { inOneHour } from '../fixtures/one-hour.ts';

type Json = Record<string, unknown>;

await inOneHour();
const p = await startConsole();
const counter = usageCounting.start({ log: p.log, logger: silentLogger, intervalMs: 20 });

const call = async (method: string, path: string, body: Json, key = p.key): Promise<Json> => {
  const answer = await p.send(method, `${p.tenant}${path}`, { body, key });
  assert.ok(answer.status < 300, answer.text);
  return answer.body as Json;
};

/** Creates an agent with this limit, which spends in sessions, in a settled and in an open reservation. */
const spend = async (limit: number, { sessions, settled, open }: { readonly [name in 'sessions' | 'settled' | 'open']: number }) => {
  const agent = await createAgent(p, `Agent ${open * 100}`);
  const path = `/agents/${agent}`;
  const runner = await createRunner(p, agent);
  const person = await call('POST', `${path}/sessions`, { message: { content: 'What did it cost?' } });
  await call('PUT', `${path}/budget`, { hourly_limit_usd: limit });
  const { id } = await call('POST', `${path}/budget/reserve`, { amount_usd: settled, ttl_seconds: 3_600 }, runner);
  await call('POST', `/budget-reservations/${id}/settle`, { amount_usd: settled }, runner);
  const message = { role: 'assistant', content: 'It cost this.', prompt_tokens: 10, completion_tokens: 1, cost_usd: sessions };
  await call('POST', `/sessions/${person.id}/messages`, message, runner);
  await waitUntil(
    'the message is counted',
    async () => p.eventsOf('BudgetUsageCounted').map(({ data }) => JSON.stringify(data)),
    (counted) => counted.some((data) => data.includes(String(person.id))),
  );
  await call('POST', `${path}/budget/reserve`, { amount_usd: open, ttl_seconds: 3_600 }, runner);
  return { agent, session: String(person.id) };
};

const barsOn = async (path: string): Promise<string[]> => {
  await p.waitForProjections();
  const { status, text } = await p.open(`${p.base}${path}`);
  assert.is(status, 200, path);
  return [...text.matchAll(/data-budget="(stopped|near|ok)"[\s\S]*?<span>([^<]*)/g)].map(
    ([, state, words]) => `${state}: ${words!.replace(/, stopped until.*/, '')}`,
  );
};

// In binary fractions, the sum of the first parts is less than 1.
for (const parts of [
  { sessions: 0.1, settled: 0.7, open: 0.2 },
  { sessions: 0.3, settled: 0.25, open: 0.45 },
])
  test(`a budget of $1 that ${JSON.stringify(parts)} spend is spent at once on every page, and its parts add up`, async () => {
    const { agent, session } = await spend(1, parts);
    for (const path of [`/agents/${agent}`, `/sessions/${session}`]) {
      const bars = await barsOn(path);
      assert.equal([path, ...bars], [path, 'stopped: $1.00 of $1.00 this hour']);
    }
    const { text: list } = await p.open(`${p.base}/agents`);
    const row = list.split('data-kind="agent"').find((one) => one.includes(`data-id="${agent}"`))!;
    assert.match(row, /data-budget="stopped"[\s\S]*\$1\.00 of \$1\.00 this hour/);
    const { text: overview } = await p.open(p.base);
    assert.match(overview, new RegExp(`data-id="budget_spent ${agent}[^"]*"`));
    const { text: costs } = await p.open(`${p.base}/costs?agent_id=${agent}`);
    const budget = costs.split('data-kind="budget"').find((one) => one.includes(`data-id="${agent}"`))!;
    const [sessions, settled, open] = [parts.sessions, parts.settled, parts.open].map((one) => one.toFixed(2));
    assert.ok(budget.includes(`Sessions $${sessions} + settled $${settled} + reserved $${open} = $1.00`), budget.slice(0, 500));
    assert.match(budget, /data-budget="stopped"[\s\S]*\$1\.00 of \$1\.00 this hour/);
    const hour = costs.slice(costs.indexOf('data-kind="budget-hour"'));
    const amounts = ['Open', 'Settled', 'Sessions', 'Left'].map((name) =>
      Math.round(Number(new RegExp(`data-label="${name}"[^>]*>(?:<[^>]*>)*\\$([\\d.]+)`).exec(hour)?.[1]) * 100),
    );
    assert.equal(amounts, [parts.open * 100, parts.settled * 100, parts.sessions * 100, 0]);
    const { text: composer } = await p.open(`${p.base}/sessions/${session}`);
    assert.match(composer, /data-waits-for="budget"[\s\S]*changeAgentBudget/);
  });

test('the page of a session says why the agent does not answer now, and what to do; otherwise it says nothing', async () => {
  const agent = await createAgent(p, 'Quiet');
  const { id } = await call('POST', `/agents/${agent}/sessions`, { message: { content: 'Are you there?' } });
  const reasons = async (): Promise<string[]> => {
    await p.waitForProjections();
    return [...(await p.open(`${p.base}/sessions/${id}`)).text.matchAll(/data-waits-for="(\w+)"/g)].map(([, why]) => why!);
  };
  const live = async () => {
    const { text } = await p.open(`${p.base}/sessions/${id}`);
    return [/ data-categories="([^"]*)"/.exec(text)![1]!.split(' '), / data-poll="/.test(text)] as const;
  };
  assert.equal(await reasons(), ['runner']);
  const [categories, isPolled] = await live();
  for (const one of ['agent', 'budget', 'session']) assert.ok(categories.includes(one), `the page follows changes of ${one}`);
  assert.ok(isPolled, 'no event says that a runner connects');
  await call('PATCH', `/agents/${agent}`, { is_active: false });
  assert.equal(await reasons(), ['activation', 'runner']);
  await call('PATCH', `/agents/${agent}`, { is_active: true });
  await call('POST', `/sessions/${id}/cancel`, {});
  assert.equal(await reasons(), []);
  assert.not((await live())[1], 'a session that has ended is not polled');
});

afterLastTest(async () => {
  await counter.close();
  await p.close();
});

test.run();
