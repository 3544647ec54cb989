import pino from 'pino';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { StoredDelivery } from '../../commands/deliveries/delivery.ts';
import type { NewDelivery } from '../../commands/deliveries/webhook-ports.ts';
import { createDeliveryPreviews } from '../../infra/deliveries/delivery-previews.ts';
import { createDeliveryRecording } from '../../infra/deliveries/record-delivery.ts';
import { memoryLog } from '../fixtures/memory-log.ts';

const FACTS = { provider: 'custom_hmac', content_type: 'application/json', reason: null } as unknown as StoredDelivery['facts'];
const bodyOf = (id: string): Uint8Array => Buffer.from(JSON.stringify({ id }));
const previewOf = (id: string) => [{ name: 'id', value: id }];

const given = () => {
  const reads: string[] = [];
  const state = { now: 0, isDown: false, isBlocked: false, onAppend: (): void => {} };
  let erase = (): void => {};
  const previews = createDeliveryPreviews({
    readDelivery: async (_tenant, id) => {
      reads.push(id);
      if (state.isDown) throw new Error('the log is down');
      return { facts: FACTS, body: bodyOf(id), agents: [], isBlocked: state.isBlocked };
    },
    vault: { onErased: (drop) => (erase = drop) },
    clock: () => state.now,
  });
  const log = memoryLog();
  const recordingWith = (kept: Pick<typeof previews, 'erasures' | 'keep'>) =>
    createDeliveryRecording({
      log,
      vault: {
        sealEvent: (_, event) => {
          state.onAppend();
          return event;
        },
      },
      logger: pino({ level: 'silent' }),
      now: () => '2026-01-01T00:00:00.000Z',
      sealChunk: () => Promise.reject(new Error('no body is large')),
      isReplay: () => false,
      evaluateLate: async (delivery) => delivery,
      previews: kept,
      count: () => {},
    });
  const deliveryOf = (id: string, tenant_id = 't', reason: StoredDelivery['facts']['reason'] = null) =>
    ({ id, integration: { id: 'i', tenant_id }, facts: { ...FACTS, reason }, body: bodyOf(id), type: 'WebhookAccepted' }) as NewDelivery;
  const recording = recordingWith(previews);
  const otherProcess = recordingWith({ erasures: () => 0, keep: () => {} });
  return {
    state,
    reads,
    receive: (...args: Parameters<typeof deliveryOf>) => recording.record(deliveryOf(...args)),
    receiveElsewhere: (id: string) => otherProcess.record(deliveryOf(id)),
    erase: () => erase(),
    read: (...ids: string[]) => previews.read('t', ids),
  };
};

test('a preview is read from the log once; after an erasure, it is read again', async () => {
  const { reads, read, erase } = given();
  const ids = Array.from({ length: 40 }, (_, n) => `d${n}`);
  assert.equal(
    [...(await read(...ids))],
    ids.map((id) => [id, previewOf(id)]),
  );
  await read(...ids);
  assert.equal(reads, ids);
  erase();
  await read('d1');
  assert.equal(reads, [...ids, 'd1']);
});

test('the preview of a blocked delivery is read each time, because its release may redact it', async () => {
  const { state, reads, read, receive } = given();
  state.isBlocked = true;
  await read('a');
  await receive('b', 't', 'paused');
  await read('a', 'b');
  assert.equal(reads, ['a', 'a', 'b']);
  state.isBlocked = false;
  await read('a');
  await read('a');
  assert.equal(reads, ['a', 'a', 'b', 'a']);
});

test('while the log is down, previews are missing, and are read as soon as it is up', async () => {
  const { state, read } = given();
  state.isDown = true;
  assert.is((await read('a')).size, 0);
  state.isDown = false;
  assert.equal([...(await read('a'))], [['a', previewOf('a')]]);
});

test('while lists of a tenant are read, the previews of its new deliveries are kept, but not those of redeliveries or other tenants', async () => {
  const { state, reads, read, receive, receiveElsewhere } = given();
  await receive('before');
  await receiveElsewhere('repeated');
  await read();
  await receive('new');
  await receive('of-another-tenant', 'other');
  await receive('repeated');
  state.now = 10_001;
  await receive('late');
  await read('before', 'new', 'of-another-tenant', 'repeated', 'late');
  assert.equal(reads, ['before', 'of-another-tenant', 'repeated', 'late']);
});

test('the preview of a delivery is not kept if a tenant is erased while it is recorded', async () => {
  const { state, reads, read, receive, erase } = given();
  await read();
  state.onAppend = erase;
  await receive('new');
  await read('new');
  assert.equal(reads, ['new']);
});

test.run();
