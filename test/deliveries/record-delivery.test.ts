import { createSecretKey, randomBytes } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { NewDelivery } from '../../commands/deliveries/webhook-ports.ts';
import type { Refusal } from '../../domain/refusal.ts';
import { appendInTime, createDeliveryAppends } from '../../infra/deliveries/delivery-appends.ts';
import { createSealedEvents } from '../../infra/vault/sealed-events.ts';
import { memoryLog } from '../fixtures/memory-log.ts';

test('while the event store does not answer, a limited number of deliveries wait for it; any further delivery is refused at once', async () => {
  const appends = createDeliveryAppends({
    log: { ...memoryLog(), append: () => new Promise(() => {}) },
    vault: createSealedEvents(() => ({ kid: 'k', key: createSecretKey(randomBytes(32)) })),
  });
  const integration = { id: 'c1', tenant_id: 'c2' };
  const delivery = (id: string) =>
    ({ integration, id, type: 'WebhookAccepted', facts: {}, body: new Uint8Array() }) as unknown as NewDelivery;
  const waiting: Promise<unknown>[] = [];
  const isRefused = (error: Refusal) => error.code === 'unavailable' && error.extra.retryAfter! >= 5;
  assert.throws(() => {
    while (waiting.length < 3_000)
      waiting.push(appendInTime(appends, delivery(`d${waiting.length}`), { eventId: 'e', retry: true }).catch(isRefused));
  }, isRefused);
  assert.ok(waiting.length > 500, String(waiting.length));
  assert.ok((await Promise.all(waiting)).every((refused) => refused === true));
});

test.run();
