import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSockets, post } from '../faults/load.ts';
import { startRunner } from '../faults/runners.ts';
import { createDataset } from '../faults/tenants.ts';
import { eventually } from '../fixtures/child-process.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';

const withPlatform = lentPlatform();
const COUNT = 6;

type Detail = { readonly causation: readonly { event_id: string }[]; readonly released: object | null };

test('held deliveries reach the runner by themselves, in the order of their receipt, as their rate allows it', () =>
  withPlatform(async (platform) => {
    const { agents, hooks } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 1 }, 'held');
    const [agent, hook] = [agents[0]!, hooks[0]!];
    const { id: tenant, key } = agent.tenant;
    const rule = { name: 'busy', kind: 'rate', options: { max: 2, per_seconds: 3 }, action: 'hold' };
    const saved = await platform.call('PUT', `/tenant/${tenant}/guardrails`, [rule], { key });
    assert.is(saved.status, 200, saved.text);
    const read = async (id: string): Promise<Detail> =>
      JSON.parse((await platform.call('GET', `/tenant/${tenant}/deliveries/${id}`, undefined, { key })).text) as Detail;
    const runner = await startRunner(platform, agent);
    const sockets = createSockets();
    const ids: string[] = [];
    for (let n = 0; n < COUNT; n++)
      ids.push((await post(platform.url, sockets, { hook, deliveryId: `held-${n}`, body: `{"n":${n}}` })).id!);
    sockets.destroy();
    await eventually('all deliveries have reached the runner', async () => runner.effects().length >= COUNT);
    await runner.stop();
    const details = await Promise.all(ids.map(read));
    assert.equal(
      runner.effects(),
      details.map(({ causation }) => causation.at(-1)!.event_id),
    );
    assert.ok(details.filter(({ released }) => released !== null).length >= 1);
  }));

test.run();
