import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Recorded } from '../../domain/event.ts';
import { openEventOpener } from '../../infra/vault/event-opener.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { dataKeyStream } from '../../infra/vault/wrapped-keys.ts';
import { waitUntil } from '../fixtures/live-projections.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const PLACE = { tenant: 'acme', category: 'delivery', id: 'd1' };
const meta = { tenant: 'acme', actor: { kind: 'system', id: 'test' } as const, at: '2026-11-23T09:00:00.000Z', v: 1 };

/**
 * Creates a log with an encrypted event. Also returns the master key file, and a function that records a step in the
 * erasure of a tenant.
 */
const given = async () => {
  const log = memoryLog();
  const masterKeyFile = join(createTempDirectory().dir, 'master.key');
  const vault = await openVault({ log, masterKeyFile });
  const event = { id: randomUUID(), type: 'DeliveryAccepted', data: Buffer.from('a content'), meta };
  await log.append('delivery-acme.d1', 'none', [await vault.sealEvent(PLACE, event)]);
  const [sealed] = await Array.fromAsync(log.read('delivery-acme.d1'));
  const record = (type: string, revision: number | 'none') =>
    log.append('tenant-acme.acme', revision, [{ id: randomUUID(), type, data: {}, meta }]);
  return { log, masterKeyFile, sealed: sealed!, record };
};

const outcomeOf = async (open: (event: Recorded) => Recorded | Promise<Recorded>, event: Recorded): Promise<string> => {
  try {
    const { data } = await open(event);
    return Buffer.from(data as Uint8Array).toString();
  } catch (error) {
    return (error as { reason?: string }).reason ?? String(error);
  }
};

test("once the destruction of a tenant's data key is recorded, a process that follows the log can no longer decrypt the tenant's contents", async () => {
  const { log, masterKeyFile, sealed, record } = await given();
  const serve = await openVault({ log, masterKeyFile });
  const changes = await serve.watchKeys();
  const relay = openEventOpener({ log, masterKeyFile });
  const outcomes = () => Promise.all([serve, relay].map(({ openEvent }) => outcomeOf(openEvent, sealed)));
  assert.equal(await outcomes(), ['a content', 'a content']);
  await record('TenantErasureStarted', 'none');
  // After the first step of the erasure and before the second one, a process could load the keys again.
  assert.equal(await outcomes(), ['a content', 'a content']);
  await log.tombstone(dataKeyStream('acme'));
  await record('TenantDataKeyDestroyed', 0);
  await waitUntil('the keys are dropped', outcomes, (found) => found.every((outcome) => outcome === 'erased'), 1);
  await changes.stop();
  await relay.close();
});

test("if the erasure of a tenant is recorded while the tenant's data key is being loaded, the key does not stay in memory", async () => {
  const { log, masterKeyFile, sealed, record } = await given();
  const released = Promise.withResolvers<void>();
  const reading = Promise.withResolvers<void>();
  const slow: typeof log = {
    ...log,
    read: async function* (stream, options) {
      const events = await Array.fromAsync(log.read(stream, options));
      if (stream === dataKeyStream('acme')) {
        reading.resolve();
        await released.promise;
      }
      yield* events;
    },
  };
  const vault = await openVault({ log: slow, masterKeyFile });
  const changes = await vault.watchKeys();
  const opening = outcomeOf(vault.openEvent, sealed);
  await reading.promise;
  await log.tombstone(dataKeyStream('acme'));
  await record('TenantErasureStarted', 'none');
  await new Promise((resolve) => setTimeout(resolve, 50));
  released.resolve();
  assert.is(await opening, 'a content');
  assert.is(await outcomeOf(vault.openEvent, sealed), 'erased');
  await changes.stop();
});

test.run();
