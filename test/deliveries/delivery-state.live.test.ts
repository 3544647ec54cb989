// limit: 240 s for this file (test/run.ts)
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectRunner } from '../../infra/runner/runner-client.ts';
import { STATES } from '../../projections/deliveries/delivery-states.ts';
import { createSockets, post } from '../faults/load.ts';
import type { RunningPlatform } from '../faults/running-platform.ts';
import { createDataset } from '../faults/tenants.ts';
import { eventually } from '../fixtures/child-process.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';

const withPlatform = runningPlatform();

type Shown = { readonly id: string; readonly state: string; readonly next_attempt_at: string | null; readonly problem: string | null };

/** Connects one agent, and returns how to send it deliveries and to read what became of them. */
const stage = async (platform: RunningPlatform) => {
  const { agents, hooks } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 1 });
  const [agent, hook] = [agents[0]!, hooks[0]!];
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const { status, text } = await platform.call(method, `/tenant/${agent.tenant.id}${path}`, body, agent.tenant);
    assert.ok(status < 300, text);
    return (text === '' ? null : JSON.parse(text)) as T;
  };
  const deliver = async (data: object): Promise<string> => {
    const sockets = createSockets();
    const { id } = await post(platform.url, sockets, { hook, deliveryId: randomUUID(), body: JSON.stringify(data) });
    sockets.destroy();
    return id!;
  };
  const list = (query = '') => call<Shown[]>('GET', `/deliveries${query}`);
  return { agent, hook, call, deliver, list };
};
type Stage = Awaited<ReturnType<typeof stage>>;

/** Checks that the list, the filters, the detail and the counts show the same states. @returns the states, newest first */
const sameEverywhere = async (given: Stage): Promise<string[]> => {
  const { call, list } = given;
  const all = await list();
  const { states } = await call<{ states: Record<string, number> }>('GET', '/deliveries/summary?by_state=true');
  const filtered = await Promise.all(STATES.map((state) => list(`?state=${state}`)));
  const details = await Promise.all(all.map(({ id }) => call<Shown>('GET', `/deliveries/${id}`)));
  // An attempt can begin or end between two answers.
  if (!isDeepStrictEqual(await list(), all)) return sameEverywhere(given);
  for (const [index, state] of STATES.entries()) {
    const expected = all.filter((one) => one.state === state).map(({ id }) => id);
    assert.equal([filtered[index]!.map(({ id }) => id), states[state]], [expected, expected.length], state);
  }
  for (const [index, { id, state, next_attempt_at }] of all.entries())
    assert.equal([details[index]!.state, details[index]!.next_attempt_at], [state, next_attempt_at], id);
  return all.map(({ state }) => state);
};

const until = async (given: Stage, ...wanted: string[]): Promise<void> => {
  let seen: string[] = [];
  await eventually(`the states are ${wanted}`, async () => {
    seen = (await given.list()).map(({ state }) => state);
    return JSON.stringify(seen) === JSON.stringify(wanted);
  });
};

test('a delivery has the same state in the list, its filters, the detail and the counts, from its receipt to its end', () =>
  withPlatform(async (platform) => {
    const given = await stage(platform);
    const failing = await given.deliver({ fails: true });
    await given.deliver({ fails: false });
    await until(given, 'queued', 'queued');
    await sameEverywhere(given);

    const control = new AbortController();
    const dir = join(platform.dir, 'states');
    const key = given.agent.runnerKey;
    const runner = await connectRunner({ url: platform.url, key, dir, signal: control.signal, report: () => {} });
    const work = Promise.withResolvers<void>();
    const receiving = runner.receive(async ({ data }) => {
      if ((data as { fails: boolean }).fails) throw new Error(`The API answered 502 for order ${randomUUID()}`);
      await work.promise;
    });
    await until(given, 'running', 'retrying');
    assert.equal(await sameEverywhere(given), ['running', 'retrying']);
    work.resolve();
    await until(given, 'acknowledged', 'retrying');
    control.abort();
    await receiving;
    await given.call('PATCH', `/webhook-integrations/${given.hook.id}`, { event_filter: ['never'] });
    await given.deliver({ fails: false });
    await until(given, 'blocked', 'acknowledged', 'retrying');
    assert.equal(await sameEverywhere(given), ['blocked', 'acknowledged', 'retrying']);
    const [retrying] = await given.list('?state=retrying');
    assert.is(retrying!.id, failing);
    assert.match(String(retrying!.problem), /^[0-9a-f]{16}$/);
  }));

test.run();
