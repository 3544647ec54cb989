import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSessionPlatform, errorCode, type Json } from '../fixtures/session-platform.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';

const p = await createSessionPlatform();

/** Creates an agent with this hourly budget in USD, and functions that reserve and settle amounts. */
const agentWith = async (hourly_limit_usd: number | null) => {
  const agent = await p.createAgent();
  await p.send('PUT', `${agent.path}/budget`, { body: { hourly_limit_usd } });
  const reserve = (body: object, key = agent.runner): Promise<Answer> => p.send('POST', `${agent.path}/budget/reserve`, { key, body });
  const settle = (id: unknown, amount_usd: number, key = agent.runner): Promise<Answer> =>
    p.send('POST', `${p.tenant}/budget-reservations/${id}/settle`, { key, body: { amount_usd } });
  const start = async (): Promise<string> =>
    String(((await p.send('POST', `${agent.path}/sessions`, { key: agent.runner, body: {} })).body as Json).id);
  const events = () =>
    p
      .eventsOf('BudgetReserved', 'BudgetSettled', 'BudgetRefused', 'BudgetThresholdReached')
      .filter(({ data }) => (data as Json).agent_id === agent.id);
  return { ...agent, reserve, settle, start, events };
};

const bodyOf = ({ body }: Answer): Json => body as Json;

test('a reservation contains its hour, its amount and its expiry time, and reduces the remaining budget until it is settled', async () => {
  const agent = await agentWith(1);
  const before = Date.now();
  const answer = await agent.reserve({ amount_usd: 0.7, ttl_seconds: 60 });
  assert.is(answer.status, 201, answer.text);
  const { id, hour, expires_at, ...rest } = bodyOf(answer);
  assert.match(String(id), /^c[a-z0-9]{24}$/);
  assert.equal(rest, { agent_id: agent.id, amount_usd: 0.7, settled_usd: null });
  assert.is(hour, `${new Date(before).toISOString().slice(0, 13)}:00:00.000Z`);
  const lifetime = Date.parse(String(expires_at)) - before;
  assert.ok(lifetime >= 60_000 && lifetime < 65_000, String(lifetime));
  assert.is((await agent.reserve({ amount_usd: 0.4 })).status, 429);
  const settled = await agent.settle(id, 0.25);
  assert.equal([settled.status, bodyOf(settled)], [200, { ...bodyOf(answer), settled_usd: 0.25 }]);
  assert.is((await agent.reserve({ amount_usd: 0.75 })).status, 201);
  const types = agent
    .events()
    .map(({ type, data }) => [type, (data as Json).amount_micros ?? (data as Json).settled_micros ?? (data as Json).percent]);
  assert.equal(types, [
    ['BudgetReserved', 700_000],
    ['BudgetRefused', 400_000],
    ['BudgetSettled', 250_000],
    ['BudgetReserved', 750_000],
    ['BudgetThresholdReached', 80],
    ['BudgetThresholdReached', 100],
  ]);
});

test('if a reservation is refused, the problem document contains the time until the hour ends, the limit and the remaining amount', async () => {
  const agent = await agentWith(0.5);
  await agent.reserve({ amount_usd: 0.2 });
  const answer = await agent.reserve({ amount_usd: 0.300001 });
  const { status, code, type, limit_usd, left_usd, resets_at } = bodyOf(answer);
  assert.equal(
    [answer.status, status, code, type, limit_usd, left_usd],
    [429, 429, 'budget_exceeded', '/problems/budget-exceeded', 0.5, 0.3],
  );
  const wait = Number(answer.headers.get('retry-after'));
  const end = Math.ceil((Date.now() + 1) / 3_600_000) * 3_600_000;
  assert.is(Date.parse(String(resets_at)), end);
  assert.ok(Math.abs(wait - (end - Date.now()) / 1_000) < 3, String(wait));
});

test('requests with the same Idempotency-Key make one reservation; after a refusal, the request can be repeated with the same key when budget is available', async () => {
  const agent = await agentWith(1);
  const send = (key: string, amount_usd: number) =>
    p.send('POST', `${agent.path}/budget/reserve`, { key: agent.runner, body: { amount_usd }, headers: { 'idempotency-key': key } });
  const [first, again] = [await send('one', 0.6), await send('one', 0.6)];
  assert.equal([again.status, again.body], [201, first.body]);
  assert.is((await send('two', 0.6)).status, 429);
  await p.send('PUT', `${agent.path}/budget`, { body: { hourly_limit_usd: 2 } });
  assert.is((await send('two', 0.6)).status, 201);
  assert.equal(
    agent.events().map(({ type }) => type),
    ['BudgetReserved', 'BudgetRefused', 'BudgetReserved'],
  );
});

test('settling a reservation a second time gets 409 if the amount differs, and changes nothing if it is the same; an amount above the reserved one is accepted', async () => {
  const agent = await agentWith(1);
  const { id } = bodyOf(await agent.reserve({ amount_usd: 0.1 }));
  const first = await agent.settle(id, 0.3);
  const count = agent.events().length;
  const again = await agent.settle(id, 0.3);
  assert.equal([first.status, again.status, again.body], [200, 200, first.body]);
  const other = await agent.settle(id, 0.31);
  assert.equal([other.status, errorCode(other)], [409, 'already_settled']);
  assert.is(agent.events().length, count);
});

test("only the agent's own runner can reserve and settle the agent's budget; a request by any other caller gets 404", async () => {
  const [agent, other] = [await agentWith(1), await agentWith(1)];
  const { id } = bodyOf(await agent.reserve({ amount_usd: 0.1 }));
  assert.equal(
    [(await agent.reserve({ amount_usd: 0.1 }, p.key)).status, (await agent.reserve({ amount_usd: 0.1 }, other.runner)).status],
    [403, 403],
  );
  assert.equal([(await agent.settle(id, 0.1, p.key)).status, (await agent.settle(id, 0.1, other.runner)).status], [404, 404]);
  const second = await createSecondTenant(p);
  assert.is(
    (await p.send('POST', `${second.tenant}/budget-reservations/${id}/settle`, { key: agent.runner, body: { amount_usd: 0.1 } })).status,
    404,
  );
  for (const unknown of [
    `c${'0'.repeat(24)}`,
    `c${'z'.repeat(24)}`,
    'nonsense',
    `${String(id).slice(0, 24)}${String(id).endsWith('0') ? 1 : 0}`,
  ])
    assert.is((await agent.settle(unknown, 0.1)).status, 404, unknown);
  assert.is((await agent.settle(id, 0.1)).status, 200);
});

test('a request to reserve or settle with an invalid value gets 422, and the error points to the field', async () => {
  const agent = await agentWith(1);
  const foreign = await agentWith(1);
  for (const [body, pointer] of [
    [{}, '/amount_usd'],
    [{ amount_usd: -1 }, '/amount_usd'],
    [{ amount_usd: 0.0000001 }, '/amount_usd'],
    [{ amount_usd: '1' }, '/amount_usd'],
    [{ amount_usd: 1, ttl_seconds: 59 }, '/ttl_seconds'],
    [{ amount_usd: 1, ttl_seconds: 3_601 }, '/ttl_seconds'],
    [{ amount_usd: 1, session_id: await foreign.start() }, '/session_id'],
    [{ amount_usd: 1, session_id: `c${'0'.repeat(24)}` }, '/session_id'],
    [{ amount_usd: 1, model_id: `c${'0'.repeat(24)}` }, '/model_id'],
    [{ amount_usd: 1, unknown: 1 }, '/unknown'],
  ] as const) {
    const answer = await agent.reserve(body);
    assert.equal([answer.status, (bodyOf(answer).errors as Json[])[0]!.pointer], [422, pointer], answer.text);
  }
  assert.equal(agent.events(), []);
  const full = await agent.reserve({ amount_usd: 1, session_id: await agent.start(), model_id: p.model, ttl_seconds: 3_600 });
  assert.is(full.status, 201, full.text);
  const { id } = bodyOf(full);
  assert.is((await agent.settle(id, -1)).status, 422);
});

test('the costs of the messages of a session count against the budget of the hour at once', async () => {
  const agent = await agentWith(1);
  const session_id = await agent.start();
  await p.append(`${p.tenant}/sessions/${session_id}`, { cost_usd: 0.6 }, agent.runner);
  assert.is((await agent.reserve({ amount_usd: 0.400001, session_id })).status, 429);
  assert.is((await agent.reserve({ amount_usd: 0.4, session_id })).status, 201);
});

test('starting a session gets 429 while the budget of the hour is used up, and succeeds after the budget is raised', async () => {
  const agent = await agentWith(0.5);
  const start = () => p.send('POST', `${agent.path}/sessions`, { body: {} });
  const { id } = bodyOf(await agent.reserve({ amount_usd: 0.5 }));
  const refused = await start();
  assert.equal([refused.status, bodyOf(refused).code], [429, 'budget_exceeded']);
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  await agent.settle(id, 0.499999);
  assert.is((await start()).status, 201);
  await p.send('PUT', `${agent.path}/budget`, { body: { hourly_limit_usd: 0 } });
  assert.is((await start()).status, 429, 'a budget of 0 allows nothing');
  await p.send('PUT', `${agent.path}/budget`, { body: { hourly_limit_usd: null } });
  assert.is((await start()).status, 201);
});

test('of 40 concurrent reservations, those that are granted together do not exceed the budget', async () => {
  const agent = await agentWith(1);
  const answers = await Promise.all(Array.from({ length: 40 }, () => agent.reserve({ amount_usd: 0.09 })));
  assert.equal(
    [201, 429].map((status) => answers.filter((answer) => answer.status === status).length),
    [11, 29],
  );
});

test.run();
