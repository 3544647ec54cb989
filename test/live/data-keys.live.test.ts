import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSockets, post } from '../faults/load.ts';
import type { RunningPlatform } from '../faults/running-platform.ts';
import { createDataset, type Tenant } from '../faults/tenants.ts';
import { eventually } from '../fixtures/child-process.ts';
import { withProcessPlatform } from '../fixtures/process-platform.ts';

/**
 * Appends a damaged data key to the keys of the tenant. No master key can decrypt it. Processes that start after this
 * read it.
 */
const damageKeys = async (platform: RunningPlatform, { id }: Tenant): Promise<void> => {
  const log = platform.openLog();
  const stream = `key-${id}.vault`;
  const last = await log.last(stream);
  const { wrapped } = last!.data as { wrapped: string };
  const data = { kid: 'damaged', wrapped: `${wrapped.slice(0, -3)}AAA` };
  await log.append(stream, last!.revision, [{ id: randomUUID(), type: 'DataKeyCreated', data, meta: last!.meta }]);
  await log.close();
};

test("while a tenant's data key cannot be decrypted, a new process answers its deliveries with 503, serves other tenants, and reports the key at /readyz", () =>
  withProcessPlatform(async (platform) => {
    // A busy worker may report its relay late, so the exact list is awaited.
    const awaitReadiness = (base: string, degraded: readonly string[]): Promise<void> =>
      eventually(`${base}/readyz answers 200 and lists [${degraded.join(', ')}]`, async () => {
        const answer = await fetch(`${base}/readyz`);
        const body = (await answer.json()) as { degraded: string[] };
        return answer.status === 200 && isDeepStrictEqual(body.degraded, degraded);
      });
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

    await awaitReadiness(platform.url, []);
    await damageKeys(platform, tenants[0]!);
    const other = await platform.startServeProcess();
    assert.is((await send(other, 0)).detail, '503');
    assert.is((await send(other, 1)).kind, 'accepted');
    const headers = { authorization: `Bearer ${tenants[0]!.key}` };
    const body = await fetch(`${other}${path}/body`, { headers });
    assert.equal([body.status, ((await body.json()) as { code: string }).code], [503, 'unavailable']);
    const detail = (await (await fetch(`${other}${path}`, { headers })).json()) as { event: string; payload_missing: string };
    assert.equal([detail.event, detail.payload_missing], ['push', 'key_unavailable']);
    await awaitReadiness(other, ['data keys (of 1 tenant)']);
    // The process that was started before the damage still has the earlier keys in memory.
    await awaitReadiness(platform.url, ['data keys (of 1 tenant)']);
    assert.is((await send(platform.url, 0)).kind, 'accepted');
    sockets.destroy();
  }));

test.run();
