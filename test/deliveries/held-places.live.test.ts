// limit: 240
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../../infra/supervision/ports.ts';
import { createSockets, post } from '../faults/load.ts';
import { ADMIN_KEY, type RunningPlatform } from '../faults/running-platform.ts';
import { createDataset } from '../faults/tenants.ts';
import { eventually } from '../fixtures/child-process.ts';
import { withProcessPlatform } from '../fixtures/process-platform.ts';
import { scrape, seriesSum } from '../fixtures/scrape.ts';
import { signInCookie } from '../fixtures/sign-in-cookie.ts';

const METRICS_PORT = String(await freePort());

type Group = {
  readonly agent_id: string;
  readonly reason: string;
  readonly rule: string | null;
  readonly count: number;
  readonly until: string;
};
type Part = { readonly name: string; readonly detail: string; readonly figures: Readonly<Record<string, number>> };

/** Signs in with a key as a browser does, and returns the function that opens pages. */
const signIn = async (url: string, key: string) => {
  const cookie = await signInCookie(url, key);
  return async (path: string): Promise<string> => (await fetch(`${url}${path}`, { headers: { cookie } })).text();
};

/** Returns the counts of the held deliveries that a page shows, by the agent and the reason. */
const countsOn = (page: string): string[] =>
  [...page.matchAll(/data-kind="held-deliveries" data-id="([^"]+)" data-count="(\d+)"/g)]
    .map(([, id, count]) => `${id} ${count}`)
    .toSorted();

/** Returns the counts of what waits in the overview, by the kind and the agent. */
const attentionOn = (page: string): string[] =>
  [...page.matchAll(/data-id="((?:budget|deliveries)_\w+ \w+)"[^>]* data-count="(\d+)"/g)]
    .map(([, id, count]) => `${id} ${count}`)
    .toSorted();

/** Creates an agent with a used-up budget that gets two deliveries, and one with a rate that holds three of four. */
const holdDeliveries = async (platform: RunningPlatform) => {
  const { agents, hooks } = await createDataset(platform, { tenants: 1, agents: 2, hooks: 1 });
  const [spent, busy] = [agents[0]!, agents[1]!];
  const { id: tenant, key } = spent.tenant;
  const send = async (method: string, path: string, body: unknown, as = key): Promise<void> => {
    const answer = await platform.call(method, `/tenant/${tenant}${path}`, body, { key: as });
    assert.ok(answer.status < 300, answer.text);
  };
  await send('PUT', `/agents/${spent.id}/budget`, { hourly_limit_usd: 1 });
  await send('POST', `/agents/${spent.id}/budget/reserve`, { amount_usd: 1 }, spent.runnerKey);
  const hookOf = (agent: string) => hooks.find((hook) => hook.agent.id === agent)!;
  const rule = { name: 'busy', kind: 'rate', options: { max: 1, per_seconds: 3_600 }, action: 'hold' };
  await send('PUT', `/webhook-integrations/${hookOf(busy.id).id}/guardrails`, [rule]);
  const sockets = createSockets();
  for (const [agent, count] of [
    [spent.id, 2],
    [busy.id, 4],
  ] as const)
    for (let n = 0; n < count; n++) await post(platform.url, sockets, { hook: hookOf(agent), deliveryId: `${agent}-${n}`, body: '{}' });
  sockets.destroy();
  return { tenant, key, spent: spent.id, busy: busy.id };
};

test('each page, Health and the metrics name the same deliveries that a budget and a rule hold, with reason and time', () =>
  withProcessPlatform(
    async (platform) => {
      const { tenant, key, spent, busy } = await holdDeliveries(platform);
      const read = async <T>(path: string, as = key): Promise<T> =>
        JSON.parse((await platform.call('GET', path, undefined, { key: as })).text) as T;
      const groups = async () => (await read<Group[]>(`/tenant/${tenant}/deliveries/held`)).toSorted((a, b) => b.count - a.count);
      const sum = (found: readonly Group[]) => found.reduce((total, { count }) => total + count, 0);
      await eventually('five deliveries are held', async () => sum(await groups()) === 5);

      const found = await groups();
      const byAgent = Map.groupBy(found, ({ agent_id }) => agent_id);
      assert.equal(
        byAgent.get(spent)!.map(({ reason, count }) => [reason, count]),
        [['budget', 2]],
      );
      // Those that arrive before the read model has the first held one are held by the rate, the others wait behind it.
      const ofBusy = byAgent.get(busy)!;
      assert.ok(ofBusy.some(({ reason }) => reason === 'rate') && ofBusy.every(({ rule }) => rule === 'busy'));
      assert.is(sum(ofBusy), 3);
      for (const { reason, until } of found) if (reason !== 'earlier_held') assert.ok(Date.parse(until) > Date.now(), reason);
      for (const [agent, count] of [
        [spent, 2],
        [busy, 3],
      ] as const)
        assert.is((await read<unknown[]>(`/tenant/${tenant}/deliveries?status=held&agent_id=${agent}`)).length, count);

      const open = await signIn(platform.url, key);
      const expected = found.map(({ agent_id, reason, count }) => `${agent_id} ${reason} ${count}`).toSorted();
      const base = `/console/t/${tenant}`;
      const problems = await open(`${base}/deliveries/problems`);
      assert.equal(countsOn(problems), expected);
      assert.match(problems, /the hourly budget is used up<?[^.]*until/);
      const overview = await open(base);
      assert.equal(attentionOn(overview), [`budget_spent ${spent} 2`, `deliveries_held ${busy} 3`]);
      for (const page of [problems, overview]) assert.match(page, /rule busy: the limit of 1 in 3600 s is reached/);
      for (const agent of [spent, busy])
        assert.equal(
          countsOn(await open(`${base}/agents/${agent}`)),
          expected.filter((line) => line.startsWith(agent)),
        );
      const list = await open(`${base}/agents`);
      assert.equal([...list.matchAll(/data-held="(\d+)"/g)].map(([, count]) => count).toSorted(), ['2', '3']);

      const health = async () =>
        (await read<{ parts: Part[] }>('/admin/health', ADMIN_KEY)).parts.find(({ name }) => name === 'held deliveries')!;
      const figures = { held_by_budget: 2, held_by_rate: 3, held_by_hours: 0 };
      await eventually('Health counts them', async () => JSON.stringify((await health()).figures) === JSON.stringify(figures));
      assert.match(
        (await health()).detail,
        /^5 deliveries are held: 2 because the hourly budget .* until \d.*; 3 because of rates until \d/,
      );
      await eventually('the metrics count them', async () => {
        const metrics = await scrape(`http://127.0.0.1:${METRICS_PORT}`);
        const counts = ['budget', 'rate', 'hours'].map((reason) => seriesSum(metrics, 'annals_deliveries_held', { reason }));
        return counts.join() === '2,3,0';
      });
    },
    { METRICS_PORT },
  ));

test.run();
