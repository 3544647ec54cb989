import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { largestAnomaly } from '../../domain/billing/anomaly.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { inOneHour } from '../fixtures/one-hour.ts';
import { createSessionPlatform, type Json } from '../fixtures/session-platform.ts';

type Hour = {
  hour: string;
  limit_usd: number | null;
  reserved_usd: number;
  settled_usd: number;
  open_usd: number;
  sessions_usd: number;
  left_usd: number | null;
  refused: number;
  refused_sessions: number;
  refused_reservation_id: string | null;
  refused_event_id: string | null;
};

const p = await createSessionPlatform();
const micros = (usd: number): number => Math.round(usd * 1e6);

const usage = async (path: string, query = ''): Promise<Hour[]> => {
  const answer = await p.send('GET', `${path}/budget/usage${query}`);
  assert.is(answer.status, 200, answer.text);
  return answer.body as Hour[];
};

const agentWith = async (hourly_limit_usd: number | null) => {
  const agent = await p.createAgent();
  await p.send('PUT', `${agent.path}/budget`, { body: { hourly_limit_usd } });
  const reserve = async (amount_usd: number): Promise<string | null> => {
    const answer = await p.send('POST', `${agent.path}/budget/reserve`, { key: agent.runner, body: { amount_usd, ttl_seconds: 3_600 } });
    return answer.status === 201 ? String((answer.body as Json).id) : null;
  };
  const settle = (id: string, amount_usd: number) =>
    p.send('POST', `${p.tenant}/budget-reservations/${id}/settle`, { key: agent.runner, body: { amount_usd } });
  return { ...agent, reserve, settle };
};

await inOneHour();

test('the use of a budget contains the reserved, settled, remaining and refused amounts of each hour, and the ids of refused reservations', async () => {
  const agent = await agentWith(1);
  const id = await agent.reserve(0.7);
  assert.is(await agent.reserve(0.4), null);
  await agent.settle(id!, 0.25);
  await agent.reserve(0.5);
  const hours = await usage(agent.path);
  assert.is(hours.length, 24);
  const { refused_reservation_id, refused_event_id, ...hour } = hours.at(-1)!;
  assert.equal(hour, {
    hour: `${new Date().toISOString().slice(0, 13)}:00:00.000Z`,
    limit_usd: 1,
    reserved_usd: 1.2,
    settled_usd: 0.25,
    open_usd: 0.5,
    sessions_usd: 0,
    left_usd: 0.25,
    refused: 1,
    refused_sessions: 0,
  });
  const [refusal] = p.eventsOf('BudgetRefused').filter(({ data }) => (data as Json).agent_id === agent.id);
  assert.is(refused_reservation_id, (refusal!.data as Json).reservation_id);
  assert.is(refused_event_id, refusal!.event_id);
  assert.equal(
    { ...hours[0], hour: '' },
    {
      ...{ hour: '', limit_usd: null, reserved_usd: 0, settled_usd: 0, open_usd: 0, sessions_usd: 0, left_usd: null },
      ...{ refused: 0, refused_sessions: 0 },
      ...{ refused_reservation_id: null, refused_event_id: null },
    },
    'before the agent there was no limit',
  );
});

/**
 * Computes from these events what the decisions on the budget should have been, without the platform's code. Sessions
 * and the expiry of reservations are ignored.
 */
const recompute = (events: readonly Json[], limit: number) => {
  const open = new Map<string, number>();
  let [spent, reserved, settled, refused] = [0, 0, 0, 0];
  for (const { type, data } of events as unknown as readonly { type: string; data: Json }[]) {
    const id = String(data.reservation_id);
    if (type === 'BudgetSettled' && open.has(id)) {
      open.delete(id);
      spent += Number(data.settled_micros);
      settled += Number(data.settled_micros);
    }
    if (type !== 'BudgetReserved' && type !== 'BudgetRefused') continue;
    const amount = Number(data.amount_micros);
    const held = [...open.values()].reduce((sum, one) => sum + one, 0);
    if (spent + held + amount > limit) refused += 1;
    else {
      open.set(id, amount);
      reserved += amount;
    }
  }
  return { reserved, settled, refused };
};

test('for a hypothetical limit, the use of a budget contains the amounts of each hour that the test computes from the events', async () => {
  await inOneHour();
  const agent = await agentWith(3);
  let random = 7;
  const next = (): number => {
    random = (random * 16_807) % 2_147_483_647;
    return random / 2_147_483_647;
  };
  for (let count = 0; count < 30; count++) {
    const amount = Math.round(next() * 400_000) / 1e6;
    const id = await agent.reserve(amount);
    if (id && next() < 0.6) await agent.settle(id, Math.round(amount * next() * 1e6) / 1e6);
  }
  const events = p
    .eventsOf('BudgetReserved', 'BudgetSettled', 'BudgetRefused')
    .filter(({ data }) => (data as Json).agent_id === agent.id) as unknown as Json[];
  for (const limit of [0, 0.5, 1, 2.5, 3, 100]) {
    const hour = (await usage(agent.path, `?limit_usd=${limit}`)).at(-1)!;
    const { reserved_usd, settled_usd, refused, limit_usd } = hour;
    const found = { reserved: micros(reserved_usd), settled: micros(settled_usd), refused };
    assert.equal(found, recompute(events, micros(limit)), `limit ${limit}`);
    assert.is(limit_usd, limit);
  }
  const present = (await usage(agent.path)).at(-1)!;
  const { reserved_usd, refused } = (await usage(agent.path, '?limit_usd=3')).at(-1)!;
  assert.equal([present.reserved_usd, present.refused], [reserved_usd, refused], 'the present limit decides as it did');
});

test('sessions that were not started because the budget was spent are counted, and started with a higher limit', async () => {
  await inOneHour();
  const agent = await agentWith(1);
  const start = () => p.send('POST', `${agent.path}/sessions`, { key: agent.runner, body: {} });
  assert.is((await start()).status, 201);
  await agent.reserve(1);
  for (let count = 0; count < 2; count++) assert.is((await start()).status, 429);
  const { open_usd, left_usd, refused, refused_sessions } = (await usage(agent.path)).at(-1)!;
  assert.equal({ open_usd, left_usd, refused, refused_sessions }, { open_usd: 1, left_usd: 0, refused: 0, refused_sessions: 2 });
  assert.is((await usage(agent.path, '?limit_usd=2')).at(-1)!.refused_sessions, 0);
  assert.is((await usage(agent.path, '?limit_usd=0.5')).at(-1)!.refused_sessions, 0, 'the reservation had been refused instead');
});

test('reading the use of a budget appends no event', async () => {
  const before = p.log.events.length;
  await usage(p.agent.path, '?limit_usd=0.1');
  assert.is(p.log.events.length, before);
});

test('a request for the use of a budget is refused if the period is empty or longer than 168 hours, or if the limit is not an amount', async () => {
  const at = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
  for (const query of [
    `?from=${at(1)}&to=${at(2)}`,
    `?from=${at(169)}`,
    '?limit_usd=-1',
    '?limit_usd=1e2',
    '?limit_usd=0.1234567',
    '?limit_usd=',
    '?x=1',
  ])
    assert.is((await p.send('GET', `${p.agent.path}/budget/usage${query}`)).status, 422, query);
  assert.is((await usage(p.agent.path, `?from=${at(167)}`)).length, 168);
  const whole = (hours: number) => `${at(hours).slice(0, 13)}:00:00.000Z`;
  assert.equal(
    (await usage(p.agent.path, `?from=${whole(5)}&to=${whole(3)}`)).map(({ hour }) => hour),
    [whole(5), whole(4)],
  );
});

test('the largest cost anomaly contains its day, the median and spread of the days before, and the threshold that the cost exceeds', () => {
  const costs = new Map([10, 12, 11, 10, 12, 11, 10].map((usd, day) => [`2026-01-0${day + 1}`, usd * 1e6]));
  const found = largestAnomaly(new Map([...costs, ['2026-01-08', 20e6], ['2026-01-09', 40e6]]), '2026-01-01', '2026-02-01');
  assert.equal(found, { day: '2026-01-09', cost: 40e6, median: 11e6, spread: 1e6, floor: 17e6 });
  assert.is(largestAnomaly(costs, '2026-01-01', '2026-02-01'), null);
});

afterLastTest(() => p.close());

test.run();
