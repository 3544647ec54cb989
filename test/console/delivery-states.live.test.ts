// limit: 240
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectRunner, type Handler, RetryLater } from '../../infra/runner/runner-client.ts';
import { createSockets, post } from '../faults/load.ts';
import type { RunningPlatform } from '../faults/running-platform.ts';
import { type Agent, createDataset, type Hook } from '../faults/tenants.ts';
import { eventually } from '../fixtures/child-process.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';
import { signInCookie } from '../fixtures/sign-in-cookie.ts';

const onPlatform = runningPlatform();

type Given = { readonly platform: RunningPlatform; readonly agent: Agent; readonly hook: Hook; readonly end: AbortSignal };

const receive = async ({ platform: { url, dir, stopOnClose }, agent, end }: Given, handle: Handler): Promise<void> => {
  const runner = await connectRunner({ url, key: agent.runnerKey, dir: join(dir, agent.id), signal: end, report: () => {} });
  const ended = runner.receive(handle);
  stopOnClose({ stop: () => ended });
};

const untilEnded = ({ end }: Given): Promise<void> =>
  new Promise((resolve) => {
    end.addEventListener('abort', () => resolve(), { once: true });
  });

const change = async ({ platform, agent }: Given, method: string, path: string, body: unknown, key = agent.tenant.key): Promise<void> => {
  const { status, text } = await platform.call(method, `/tenant/${agent.tenant.id}${path}`, body, { key });
  assert.ok(status < 300, text);
};

/** For each state of a delivery, what is done before the delivery arrives, so that it reaches and keeps this state. */
const STATES: Readonly<Record<string, (given: Given) => Promise<unknown>>> = {
  acknowledged: (given) => receive(given, async () => {}),
  running: (given) => receive(given, () => untilEnded(given)),
  retrying: (given) =>
    receive(given, async () => {
      throw new RetryLater(600_000, 'the service is down');
    }),
  dead: (given) =>
    receive(given, async () => {
      throw new RetryLater(1, 'the service refuses it');
    }),
  queued: async () => {},
  held: async (given) => {
    await change(given, 'PUT', `/agents/${given.agent.id}/budget`, { hourly_limit_usd: 1 });
    await change(given, 'POST', `/agents/${given.agent.id}/budget/reserve`, { amount_usd: 1 }, given.agent.runnerKey);
  },
  blocked: (given) =>
    change(given, 'PUT', `/webhook-integrations/${given.hook.id}/guardrails`, [
      { name: 'no-pushes', kind: 'event_filter', options: { deny: ['push'] }, action: 'block' },
    ]),
  rejected: async () => {},
};

const rowsIn = (html: string): string[] => html.split(/(?=<tr[^>]* data-kind=")/);
const stateIn = (html: string): string | undefined => /class="badge[^>]* data-state="(\w+)"/.exec(html)?.[1];

/** Returns the state that a page shows in the row of a delivery; undefined if it has no such row. */
const stateOfRow = (html: string, id: string): string | undefined => {
  const row = rowsIn(html).find((one) => one.startsWith('<tr') && one.includes(`data-kind="delivery" data-id="${id}"`));
  return row && stateIn(row.split('</tr>')[0]!);
};

/** What the page of problems has about a delivery in this state; null if it is none. */
const problemOf = (state: string, { agent, hook }: Pick<Given, 'agent' | 'hook'>): RegExp | null => {
  const group = (where: string) => new RegExp(`data-state="${state}"[\\s\\S]*?data-label="Where">${where}<[\\s\\S]*?data-label="Count">1<`);
  if (state === 'dead') return group(agent.slug);
  if (state === 'held') return new RegExp(`data-kind="held-deliveries" data-id="${agent.id} budget" data-count="1"`);
  if (state === 'queued') return new RegExp(`data-id="stuck-${agent.id}"[\\s\\S]*?data-label="Count">1<`);
  return state === 'blocked' || state === 'rejected' ? group(hook.id) : null;
};

test('each state of a delivery is the same in list, counts, detail, agent, overview and problems', () =>
  onPlatform(async (platform) => {
    const names = Object.keys(STATES);
    const { tenants, hooks } = await createDataset(platform, { tenants: 1, agents: names.length, hooks: 1 });
    const control = new AbortController();
    platform.stopOnClose({ stop: async () => control.abort() });
    const givenOf = new Map<string, Given>();
    for (const [index, hook] of hooks.entries()) {
      const given = { platform, hook, agent: hook.agent, end: control.signal };
      givenOf.set(names[index]!, given);
      // The page of problems names the source by its label.
      await change(given, 'PATCH', `/webhook-integrations/${hook.id}`, { label: hook.id });
      await STATES[names[index]!]!(given);
    }
    const sockets = createSockets();
    for (const [state, { hook }] of givenOf)
      await post(platform.url, sockets, {
        ...{ hook, deliveryId: crypto.randomUUID(), body: '{}' },
        ...(state === 'rejected' && { signature: 'sha256=forged' }),
      });
    sockets.destroy();

    const [{ id: tenant, key }] = tenants as [(typeof tenants)[number]];
    const cookie = await signInCookie(platform.url, key);
    const open = async (path: string): Promise<string> =>
      (await fetch(`${platform.url}/console/t/${tenant}${path}`, { headers: { cookie } })).text();
    const find = async ({ agent }: Given): Promise<{ readonly id: string; readonly state: string } | undefined> => {
      const found = await platform.call('GET', `/tenant/${tenant}/deliveries?agent_id=${agent.id}`, undefined, { key });
      return (JSON.parse(found.text) as { id: string; state: string }[])[0];
    };
    for (const [state, given] of givenOf) await eventually(`a delivery is ${state}`, async () => (await find(given))?.state === state);
    const list = await open('/deliveries');
    const overview = await open('');
    const problems = await open('/deliveries/problems');
    for (const [state, given] of givenOf) {
      const { id } = (await find(given))!;
      const shown = {
        list: stateOfRow(list, id),
        filtered: stateOfRow(await open(`/deliveries?state=${state}`), id),
        count: new RegExp(`data-count="${state}"[^>]*>(\\d+)`).exec(list)?.[1],
        detail: stateIn(/<h1[\s\S]*?<\/h1>/.exec(await open(`/deliveries/${id}`))![0]),
        agent: stateOfRow(await open(`/agents/${given.agent.id}`), id),
        overview: stateOfRow(overview, id),
      };
      assert.equal(shown, { list: state, filtered: state, count: '1', detail: state, agent: state, overview: state });
      const problem = problemOf(state, given);
      if (problem !== null) assert.match(problems, problem, state);
    }
    control.abort();
  }));

test.run();
