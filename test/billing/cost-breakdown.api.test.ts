import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createSessionPlatform, type Json } from '../fixtures/session-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Group = { key: string; label: string; cost_usd: number; repriced_usd: number; requests: number; anomaly: Json | null };
type Breakdown = { period: Json; groups: Group[]; total_cost_usd: number; total_repriced_usd: number };

const p = await createSessionPlatform();
const ask = async (query = '', key = p.key) => {
  await p.waitForProjections();
  return p.send('GET', `${p.tenant}/billing/costs${query}`, { key });
};
const breakdown = async (query = ''): Promise<Breakdown> => {
  const answer = await ask(query);
  assert.is(answer.status, 200, answer.text);
  return answer.body as Breakdown;
};
const micros = (usd: number): number => Math.round(usd * 1e6);
const sumOf = (groups: readonly Group[], of: 'cost_usd' | 'repriced_usd'): number =>
  groups.reduce((sum, group) => sum + micros(group[of]), 0);

const second = await p.createAgent();
const member = await addMember(p, 'ADMIN', p.tenant_id, 'grace@example.com');

const report = async (agent: { path: string; runner: string }, message: object, start: object = {}, key = agent.runner): Promise<void> => {
  const started = await p.send('POST', `${agent.path}/sessions`, { key, body: start });
  const answer = await p.append(`${p.tenant}/sessions/${(started.body as Json).id}`, message, agent.runner);
  assert.is(answer.status, 201, answer.text);
};

test('the costs by day, agent, model and cause each add up to exactly the same total', async () => {
  const amounts = [0.000001, 0.1, 0.2, 1.234567, 0.000003];
  for (const [index, cost_usd] of amounts.entries()) {
    const agent = index % 3 === 0 ? p.agent : second;
    await report(agent, { cost_usd, prompt_tokens: 1_000, completion_tokens: 100 }, {}, index === 1 ? member.key : agent.runner);
  }
  const total = amounts.reduce((sum, amount) => sum + micros(amount), 0);
  const repriced: number[] = [];
  for (const group_by of ['day', 'agent', 'model', 'cause']) {
    const found = await breakdown(`?group_by=${group_by}`);
    assert.is(sumOf(found.groups, 'cost_usd'), total, group_by);
    assert.is(micros(found.total_cost_usd), total, group_by);
    assert.is(sumOf(found.groups, 'repriced_usd'), micros(found.total_repriced_usd), group_by);
    assert.is(
      found.groups.reduce((sum, { requests }) => sum + requests, 0),
      amounts.length,
    );
    repriced.push(micros(found.total_repriced_usd));
  }
  // The expected costs follow from prices of 3 USD per million prompt tokens and 15 USD per million completion tokens.
  assert.equal(repriced, Array(4).fill(amounts.length * (3_000 + 1_500)));
  const costs = (await p.send('GET', `${p.tenant}/billing/agent-costs`)).body as Json;
  assert.is(micros(Number(costs.total_cost_usd)), total, 'as the costs of agents say');
});

test('groups of costs by agent or model have the names of the agents or models; groups by day are named by their date', async () => {
  const labels = async (group_by: string) => (await breakdown(`?group_by=${group_by}`)).groups.map(({ label }) => label).sort();
  assert.equal(await labels('agent'), ['Agent 0', 'Agent 1']);
  assert.equal(await labels('model'), ['priced']);
  assert.equal((await labels('cause')).length, 2);
  const [day] = (await breakdown()).groups;
  assert.equal([day!.key, day!.label], [new Date().toISOString().slice(0, 10), new Date().toISOString().slice(0, 10)]);
});

test("a later change of a model's price changes the costs at present prices, but not the costs at the prices of the time of use", async () => {
  const before = await breakdown('?group_by=model');
  await p.send('PATCH', `/admin/models/${p.model}`, { body: { pricing: { input_per_mtok: 30, output_per_mtok: 150 } } });
  const after = await breakdown('?group_by=model');
  assert.is(after.total_cost_usd, before.total_cost_usd);
  const of = ({ groups }: Breakdown) => micros(groups.find(({ key }) => key === p.model)!.repriced_usd);
  assert.equal([of(before), of(after)], [22_500, 225_000]);
});

test('if a period starts and ends within a day, its costs include only that part of the day', async () => {
  const { at } = p.eventsOf('UsageRecorded')[0]!;
  const end = new Date(Date.parse(at) + 1).toISOString();
  for (const group_by of ['day', 'agent']) {
    const { groups } = await breakdown(`?group_by=${group_by}&start=${at}&end=${end}`);
    assert.equal(
      groups.map(({ cost_usd }) => cost_usd),
      [0.000001],
    );
  }
});

test('a request for costs gets 422 if its period is empty or too long, or if its grouping or a query parameter is unknown; a MEMBER gets 403', async () => {
  for (const query of [
    '?group_by=week',
    '?start=2026-02-01T00:00:00Z&end=2026-01-01T00:00:00Z',
    '?start=2024-01-01T00:00:00Z&end=2026-01-01T00:00:00Z',
    '?x=1',
  ])
    assert.is((await ask(query)).status, 422, query);
  const other = await addMember(p, 'MEMBER', p.tenant_id, 'eve@example.com');
  assert.is((await ask('', other.key)).status, 403);
});

afterLastTest(() => p.close());

test.run();
