import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import { createSessionPlatform, type Json } from '../fixtures/session-platform.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';

const p = await createSessionPlatform();
const costs = async (query = '', key = p.key): Promise<Answer> => {
  await p.waitForProjections();
  return p.send('GET', `${p.tenant}/billing/agent-costs${query}`, { key });
};
const bodyOf = ({ body }: Answer): Json => body as Json;
const rowOf = (answer: Answer, agent_id: string): Json => (bodyOf(answer).agents as Json[]).find((row) => row.agent_id === agent_id)!;

/** Starts a session of the agent and records one message with this cost in it. */
const spend = async (agent: { path: string; runner: string }, cost_usd: number, start: object = {}, key = agent.runner): Promise<void> => {
  const { id } = bodyOf(await p.send('POST', `${agent.path}/sessions`, { key, body: start }));
  const answer = await p.append(`${p.tenant}/sessions/${id}`, { cost_usd, prompt_tokens: 10, completion_tokens: 5 }, agent.runner);
  assert.is(answer.status, 201, answer.text);
};

test('a request for costs without a period gets the costs of the current month, with a row for every agent, including agents without costs', async () => {
  const idle = await p.createAgent();
  await spend(p.agent, 0.000001);
  await spend(p.agent, 1.25);
  const answer = await costs();
  const now = new Date();
  const [start, end] = [0, 1].map((later) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + later)).toISOString());
  assert.equal([answer.status, bodyOf(answer).period, bodyOf(answer).total_cost_usd], [200, { start, end }, 1.250001]);
  assert.equal(Object.keys(bodyOf(answer)).sort(), ['agents', 'period', 'total_cost_usd']);
  assert.equal(bodyOf(answer).agents, [
    {
      ...{ agent_id: p.agent.id, agent_name: 'Agent 0', requests: 2, input_tokens: 20, output_tokens: 10 },
      ...{ cost_usd: 1.250001, anomaly: false, top_model: 'priced' },
    },
    {
      agent_id: idle.id,
      agent_name: 'Agent 1',
      requests: 0,
      input_tokens: 0,
      output_tokens: 0,
      cost_usd: 0,
      anomaly: false,
      top_model: null,
    },
  ]);
});

test("a message without a stated cost is priced with the model's prices at the time of the message; later price changes do not change its cost", async () => {
  const agent = await p.createAgent();
  const { id } = bodyOf(await p.send('POST', `${agent.path}/sessions`, { key: agent.runner, body: {} }));
  const report = () =>
    p.append(`${p.tenant}/sessions/${id}`, { model_id: p.model, prompt_tokens: 1_000, completion_tokens: 100 }, agent.runner);
  await report();
  await p.send('PATCH', `/admin/models/${p.model}`, { body: { pricing: { input_per_mtok: 30, output_per_mtok: 150 } } });
  assert.is(rowOf(await costs(), agent.id).cost_usd, 0.0045);
  await report();
  assert.is(rowOf(await costs(), agent.id).cost_usd, 0.0495);
  await p.send('PATCH', `/admin/models/${p.model}`, { body: { pricing: { input_per_mtok: 3, output_per_mtok: 15 } } });
});

test("the costs by cause name the integration, cron job, user or runner that started the sessions; all of them add up to the tenant's total", async () => {
  const agent = await p.createAgent();
  const member = await addMember(p, 'MEMBER', p.tenant_id, 'grace@example.com');
  await p.send('PUT', `${agent.path}/roles/${member.user_id}`, { body: { role: 'MANAGER' } });
  const integration = { provider: 'github', agent_id: agent.id, label: 'Code', secret: SECRET };
  const hook = bodyOf(await p.send('POST', `${p.tenant}/webhook-integrations`, { body: integration })).id;
  const headers = { 'x-github-delivery': 'd-1', 'x-github-event': 'push', 'x-hub-signature-256': sign('{}') };
  const delivery_id = bodyOf(await p.send('POST', `/hooks/inbound/${hook}`, { raw: '{}', headers })).id;
  const jobFields = { name: 'Job', kind: 'recurring', target_kind: 'external_url', target: 'https://example.com', interval_minutes: 60 };
  const job = String(bodyOf(await p.send('POST', `${agent.path}/cron-jobs`, { body: jobFields })).id);
  const due_at = '2026-01-01T00:00:00.000Z';
  const occurrence = CronRun.occurrenceId(job, due_at);
  const fields = {
    job_id: job,
    agent_id: agent.id,
    due_at,
    schedule_revision: 0,
    next_fire_at: null,
    target_kind: 'external_url',
  } as const;
  await p.systemContext(p.tenant_id).transact(CronRun, occurrence, () => [{ type: 'CronFired' as const, data: fields }]);

  await spend(agent, 0.1, { delivery_id });
  await spend(agent, 0.2, { cron_occurrence_id: occurrence });
  await spend(agent, 0.4, {}, member.key);
  await spend(agent, 0.5, { user_id: member.user_id });
  await spend(agent, 0.06);
  const answer = await costs('?include_causes=true');
  const causes = bodyOf(answer).causes as Json[];
  const costOf = (cause_kind: string, cause_id: unknown) =>
    causes.find((row) => row.cause_kind === cause_kind && row.cause_id === cause_id)?.cost_usd;
  assert.equal([costOf('webhook', hook), costOf('cron_job', job), costOf('user', member.user_id)], [0.1, 0.2, 0.9]);
  assert.ok(Number(costOf('runner', null)) > 0.06, 'with that of the other tests');
  const sum = (rows: Json[]) => rows.reduce((total, { cost_usd }) => total + Math.round(Number(cost_usd) * 1e6), 0) / 1e6;
  assert.equal([sum(causes), sum(bodyOf(answer).agents as Json[])], [bodyOf(answer).total_cost_usd, bodyOf(answer).total_cost_usd]);
});

test('the costs of a period include those at its start and exclude those at its end, even if start and end are within one day', async () => {
  const agent = await p.createAgent();
  await spend(agent, 1);
  const at = p.eventsOf('UsageRecorded').at(-1)!.at;
  const later = (ms: number) => new Date(Date.parse(at) + ms).toISOString();
  const [day, nextDay] = [`${at.slice(0, 10)}T00:00:00.000Z`, `${later(86_400_000).slice(0, 10)}T00:00:00.000Z`];
  for (const [start, end, cost] of [
    [at, later(1), 1],
    [later(-1_000), at, 0],
    [later(1), nextDay, 0],
    [day, nextDay, 1],
    [later(-86_400_000 * 2), later(1), 1],
    [at, later(86_400_000 * 2), 1],
    [later(-86_400_000 * 2), day, 0],
    [nextDay, later(86_400_000 * 3), 0],
  ] as const) {
    const answer = await costs(`?start=${start}&end=${end}`);
    assert.equal([bodyOf(answer).period, rowOf(answer, agent.id).cost_usd], [{ start, end }, cost], `${start} ${end}`);
  }
});

test('the costs of a period include those of agents that were deleted later', async () => {
  const [spender, idle] = [await p.createAgent(), await p.createAgent()];
  await spend(spender, 2);
  for (const { path } of [spender, idle]) await p.send('DELETE', path);
  const answer = await costs();
  assert.equal([rowOf(answer, spender.id).cost_usd, rowOf(answer, idle.id)], [2, undefined]);
});

test('a request for costs gets 422 if its period is empty, longer than 400 days or malformed', async () => {
  for (const [query, pointer] of [
    ['?start=2026-02-01T00:00:00Z&end=2026-02-01T00:00:00Z', '/query/end'],
    ['?start=2025-01-01T00:00:00Z&end=2026-02-05T00:00:00.001Z', '/query/start'],
    ['?start=yesterday', '/query/start'],
    ['?until=2026-02-01T00:00:00Z', '/query/until'],
  ] as const) {
    const answer = await costs(query);
    assert.equal([answer.status, (bodyOf(answer).errors as Json[])[0]?.pointer], [422, pointer], query);
  }
  assert.is((await costs('?start=2025-01-01T00:00:00Z&end=2026-02-05T00:00:00Z')).status, 200, 'exactly 400 days');
  const month = await costs('?end=2026-02-01T00:00:00Z');
  assert.equal(bodyOf(month).period, { start: '2026-01-01T00:00:00.000Z', end: '2026-02-01T00:00:00.000Z' });
  const later = await costs('?start=2099-02-05T00:00:00Z');
  assert.equal(bodyOf(later).period, { start: '2099-02-05T00:00:00.000Z', end: '2099-03-01T00:00:00.000Z' });
});

test('the costs of a tenant can be read only by an OWNER or an ADMIN; a request by any other member is refused', async () => {
  for (const [role, status] of [
    ['ADMIN', 200],
    ['AUDITOR', 403],
    ['MEMBER', 403],
  ] as const)
    assert.is((await costs('', (await addMember(p, role, p.tenant_id, `${role.toLowerCase()}@example.com`)).key)).status, status, role);
});

test('the total cost in the usage summary of a tenant equals the sum of the costs of its agents', async () => {
  const start = new Date(Date.now() - 29 * 86_400_000).toISOString().slice(0, 10);
  const total = bodyOf(await costs(`?start=${start}T00:00:00Z`)).total_cost_usd;
  const detail = bodyOf(await p.send('GET', `/admin/tenants/${p.tenant_id}`));
  assert.is((detail.usage_summary_30d as Json).cost_usd, total);
});

test.run();
