import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createCronJob, startConsole } from '../fixtures/console-platform.ts';
import { seedSession } from '../fixtures/console-sessions.ts';
import { addMember } from '../fixtures/users.ts';

const p = await startConsole();
const empty = await p.open(`${p.base}/costs`);
const agent = await createAgent(p, 'Reviewer');
const { runner } = await seedSession(p, agent);

test('without costs, the costs page explains what it would show', () => {
  assert.is(empty.status, 200);
  assert.match(empty.text, /data-empty[\s\S]+No costs in this period/);
});

test('each grouping of the costs page shows its groups and the same total', async () => {
  for (const [group_by, label] of [
    ['day', new Date().toISOString().slice(0, 10)],
    ['agent', 'Reviewer'],
    ['model', 'no model'],
    ['cause', 'runner'],
  ]) {
    const { text } = await p.open(`${p.base}/costs?group_by=${group_by}`);
    assert.match(text, new RegExp(`data-kind="cost"[\\s\\S]+${label}[\\s\\S]+data-total[\\s\\S]+\\$0\\.05`), group_by);
    assert.match(text, /role="img" aria-labelledby="costs-title"/);
  }
});

test('the exact amounts by day, agent, model and cause add up to the total to the micro-dollar', async () => {
  const other = await createAgent(p, 'Other');
  const session = await seedSession(p, other);
  for (const cost_usd of [0.000001, 1.234567])
    await p.send('POST', `${p.tenant}/sessions/${session.id}/messages`, {
      ...{ key: session.runner, body: { role: 'assistant', content: 'x', prompt_tokens: 10, completion_tokens: 1, cost_usd } },
    });
  await p.waitForProjections();
  const micros = 2 * (51_200 + 400) + 1 + 1_234_567;
  for (const group_by of ['day', 'agent', 'model', 'cause']) {
    const { text } = await p.open(`${p.base}/costs?group_by=${group_by}`);
    const billed = [...text.matchAll(/<strong><data value="[^"]*" title="\$([\d.]+)">/g)].map(([, amount]) =>
      Math.round(Number(amount) * 1e6),
    );
    const total = billed.pop();
    assert.equal([total, billed.reduce((sum, amount) => sum + amount, 0)], [micros, micros], group_by);
  }
});

test('the chart has the five agents that cost the most, all others, the period before as a line, and a forecast', async () => {
  const now = Date.now();
  const month = new Date(now).toISOString().slice(0, 7);
  const spend = async (name: string, cost_usd: number) => {
    const session = await seedSession(p, await createAgent(p, name));
    const body = { role: 'assistant', content: 'x', prompt_tokens: 10, completion_tokens: 1, cost_usd };
    await p.send('POST', `${p.tenant}/sessions/${session.id}/messages`, { key: session.runner, body });
  };
  for (const [n, name] of ['Ada', 'Bob', 'Cid', 'Dora', 'Eve', 'Finn'].entries()) await spend(name, 10 - n);
  await p.waitForProjections();
  const { text } = await p.open(`${p.base}/costs`);
  const heads = /<caption>Billed by day<\/caption>([\s\S]*?)<\/thead>/.exec(text)![1]!;
  assert.equal(
    [...heads.matchAll(/<th scope="col">([^<]+)/g)].map(([, title]) => title),
    ['Day', 'Ada', 'Bob', 'Cid', 'Dora', 'Eve', 'other agents', 'the period before'],
  );
  assert.match(text, /<polyline points="[^"]+" class="chart-line"/);
  assert.match(text, /The same days of the period before have cost nothing/);
  assert.not.match(text, /data-forecast/, 'no whole day of use yet');
  p.clock.now = () => now + 2 * 86_400_000;
  const session = await p.signIn();
  const later = await p.open(`${p.base}/costs?start=${month}-01T00:00:00Z&end=2126-01-01T00:00:00Z`, session);
  assert.is(later.status, 422, 'at most 400 days');
  const end = new Date(now + 20 * 86_400_000).toISOString().slice(0, 10);
  const start = new Date(now - 86_400_000).toISOString().slice(0, 10);
  const found = await p.open(`${p.base}/costs?start=${start}T00:00:00Z&end=${end}T00:00:00Z`, session);
  const [, forecast] = /data-forecast="([\d.]+)"/.exec(found.text)!;
  const { body } = await p.send('GET', `${p.tenant}/billing/costs?start=${start}T00:00:00Z&end=${end}T00:00:00Z&series_by=agent`);
  const { total_cost_usd, forecast_usd } = body as { total_cost_usd: number; forecast_usd: number };
  assert.is(Number(forecast), forecast_usd);
  // Two days have cost the total, so that each further day costs half of it.
  const left = (Date.parse(end) - p.clock.now()) / 86_400_000;
  assert.ok(Math.abs(forecast_usd - total_cost_usd * (1 + left / 2)) < 0.01, `${forecast_usd}`);
  const part = await p.open(`${p.base}/costs?start=${start}T10:00:00Z&end=${end}T00:00:00Z`, session);
  assert.match(part.text, /<th scope="col">Billed<\/th>/, 'parts of days have no series');
  p.clock.now = () => Date.now();
});

test('the budgets of all agents are listed, the fullest first, with the parts that make up each sum', async () => {
  const limited: string[] = [];
  for (const [name, limit, amount] of [
    ['Roomy', 10, 1],
    ['Full', 1, 1],
    ['Idle', 5, 0],
  ] as const) {
    const session = omit({ ...(await seedSession(p, await createAgent(p, name))), agent: null }, 'agent');
    const { id } = p.eventsOf('AgentCreated').at(-1)!;
    limited.push(id);
    await p.send('PUT', `${p.tenant}/agents/${id}/budget`, { body: { hourly_limit_usd: limit } });
    if (amount > 0) await p.send('POST', `${p.tenant}/agents/${id}/budget/reserve`, { key: session.runner, body: { amount_usd: amount } });
  }
  await p.waitForProjections();
  const { text } = await p.open(`${p.base}/costs`);
  const rows = [...text.matchAll(/data-kind="budget" data-id="(\w+)" data-state="(\w+)"/g)].map(([, id, state]) => [id, state]);
  const [roomy, full, idle] = limited;
  assert.equal(rows, [
    [full, 'stopped'],
    [roomy, 'ok'],
    [idle, 'ok'],
  ]);
  assert.match(text, /Sessions \$0\.00 \+ settled \$0\.00 \+ reserved \$1\.00 = \$1\.00/);
  assert.match(text, new RegExp(`run/changeAgentBudget\\?[^"]*agent_id=${full}`));
});

test("the hours of an agent's budget show its reservations, and how many of them another limit would have refused", async () => {
  for (const amount_usd of [0.4, 0.3, 0.2])
    await p.send('POST', `${p.tenant}/agents/${agent}/budget/reserve`, { key: runner, body: { amount_usd } });
  const { text } = await p.open(`${p.base}/costs?agent_id=${agent}`);
  assert.match(text, /data-hypothesis[^>]*>0 reservations were refused/);
  assert.match(text, /data-kind="budget-hour"[\s\S]+no limit/);
  const limited = await p.open(`${p.base}/costs?agent_id=${agent}&limit_usd=0.1`);
  assert.match(limited.text, /At \$0\.10 per hour, 3 reservations would have been refused/);
  assert.is((await p.open(`${p.base}/costs?group_by=week`)).status, 422);
});

test('the hours of a budget are those of the period; of a longer period, they are the last 168, and the page says so', async () => {
  const hoursIn = async (query: string) => {
    const { status, text } = await p.open(`${p.base}/costs?agent_id=${agent}&${query}`);
    assert.is(status, 200, text);
    return { text, hours: Number(/were refused in these (\d+) hours/.exec(text)?.[1]) };
  };
  const earlier = await hoursIn('start=2026-01-05T10:00:00Z&end=2026-01-05T13:30:00Z');
  assert.is(earlier.hours, 4);
  assert.not.match(earlier.text, /data-kind="budget-hour"|data-clipped/);
  const long = await hoursIn(`start=2026-01-05T10:00:00Z&end=${new Date(Date.now() + 86_400_000).toISOString()}`);
  assert.is(long.hours, 168);
  assert.match(long.text, /data-kind="budget-hour"/);
  assert.match(long.text, /data-clipped[^>]*>At most 168 hours are shown/);
});

test('a refused reservation has a link to its event, and costs caused by a person or a cron job have a link to them', async () => {
  const { text } = await p.open(`${p.base}/costs?agent_id=${agent}&limit_usd=0.1`);
  const first = p.eventsOf('BudgetReserved').find(({ data }) => (data as { agent_id: string }).agent_id === agent)!;
  assert.match(text, new RegExp(`href="${p.base}/events/${first.event_id}"[^>]*>3 refused`));
  assert.is((await p.open(`${p.base}/events/${first.event_id}`)).status, 200);
  const job = await createCronJob(p, agent);
  await p.send('POST', `${p.tenant}/agents/${agent}/cron-jobs/${job}/run-now`);
  await p.waitForProjections();
  const [run] = (await p.send('GET', `${p.tenant}/agents/${agent}/cron-jobs/${job}/runs`)).body as { occurrence_id: string }[];
  await seedSession(p, agent, { cron_occurrence_id: run!.occurrence_id });
  const owner = p.eventsOf('MemberAdded')[0]!.data as { user_id: string };
  await seedSession(p, agent, { user_id: owner.user_id });
  const causes = await p.open(`${p.base}/costs?group_by=cause`);
  assert.match(causes.text, new RegExp(`href="${p.base}/agents/${agent}/cron-jobs/${job}"[^>]*><span class="event">Weekly report`));
  assert.match(causes.text, new RegExp(`href="${p.base}/sessions\\?user_id=${owner.user_id}"`));
});

test('a reservation that was refused opens its event, which names the reservation', async () => {
  const tight = await createAgent(p, 'Tight');
  const session = await seedSession(p, tight);
  await p.send('PUT', `${p.tenant}/agents/${tight}/budget`, { body: { hourly_limit_usd: 0.5 } });
  await p.send('POST', `${p.tenant}/agents/${tight}/budget/reserve`, { key: session.runner, body: { amount_usd: 0.6 } });
  const { text } = await p.open(`${p.base}/costs?agent_id=${tight}`);
  assert.match(text, /data-hypothesis[^>]*>1 reservation was refused/);
  const [, href] = /href="([^"]+\/events\/[^"]+)"[^>]*>1 refused/.exec(text)!;
  const { reservation_id } = p.eventsOf('BudgetRefused').at(-1)!.data as { reservation_id: string };
  const event = await p.open(href!);
  assert.is(event.status, 200);
  assert.ok(event.text.includes(reservation_id));
});

test('for a visitor who may not read costs, the costs page looks like an unknown page, and no link leads to it', async () => {
  for (const [role, status] of [
    ['ADMIN', 200],
    ['MEMBER', 404],
  ] as const) {
    const session = await p.signIn((await addMember(p, role, p.tenant_id, `c-${role}@example.com`)).key);
    assert.is(/href="[^"]+\/costs"/.test((await p.open(p.base, session)).text), status === 200, role);
    assert.is((await p.open(`${p.base}/costs`, session)).status, status, role);
  }
});

afterLastTest(() => p.close());

test.run();
