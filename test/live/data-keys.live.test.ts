import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSockets, post } from '../faults/load.ts';
import { type Platform, withPlatform } from '../faults/platform.ts';
import { createDataset, type Tenant } from '../faults/tenants.ts';
import { eventually } from '../fixtures/child-process.ts';

/** Appends a data key to a tenant's keys that no master key has wrapped. Processes that start later read it. */
const damageKeys = async (platform: Platform, { id }: Tenant): Promise<void> => {
  const log = platform.openLog();
  const stream = `key-${id}.vault`;
  const last = await log.last(stream);
  const { wrapped } = last!.data as { wrapped: string };
  const data = { kid: 'damaged', wrapped: `${wrapped.slice(0, -3)}AAA` };
  await log.append(stream, last!.revision, [{ id: randomUUID(), type: 'DataKeyCreated', data, meta: last!.meta }]);
  await log.close();
};

test("while a tenant's data key cannot be decrypted, its deliveries and bodies get 503, those of other tenants do not, and /readyz says so", () =>
  withPlatform(async (platform) => {
    const { tenants, hooks } = await createDataset(platform, { tenants: 2, agents: 1, hooks: 1 });
    const sockets = createSockets();
    const send = (base: string, index: number) =>
      post(base, sockets, { hook: hooks[index]!, deliveryId: randomUUID(), body: '{"some":"text"}' });
    const first = await send(platform.url, 0);
    assert.is(first.kind, 'accepted');
    const path = `/tenant/${tenants[0]!.id}/deliveries/${first.id}`;
    await eventually(
      'the read model shows the delivery',
      async () => (await platform.call('GET', path, undefined, tenants[0]!)).status === 200,
    );

    await damageKeys(platform, tenants[0]!);
    const other = await platform.startServeProcess();
    const degraded = async () => {
      const answer = await fetch(`${other}/readyz`);
      return { status: answer.status, degraded: ((await answer.json()) as { degraded: string[] }).degraded };
    };
    assert.not.ok((await degraded()).degraded.some((part) => part.startsWith('data keys')));
    assert.is((await send(other, 0)).detail, '503');
    assert.is((await send(other, 1)).kind, 'accepted');
    sockets.destroy();
    const headers = { authorization: `Bearer ${tenants[0]!.key}` };
    const body = await fetch(`${other}${path}/body`, { headers });
    assert.equal([body.status, ((await body.json()) as { code: string }).code], [503, 'unavailable']);
    const detail = (await (await fetch(`${other}${path}`, { headers })).json()) as { event: string; payload_missing: string };
    assert.equal([detail.event, detail.payload_missing], ['push', 'key_unavailable']);
    const readiness = await degraded();
    assert.is(readiness.status, 200);
    assert.ok(readiness.degraded.includes('data keys (of 1 tenant)'), JSON.stringify(readiness));
  }));

test.run();
