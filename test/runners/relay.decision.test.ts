import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { inlineLimit, outgoingMessage, relayedEventTypes } from '../../commands/runners/relay.reactor.ts';
import type { Recorded } from '../../domain/event.ts';
import { MAX_INLINE_BYTES } from '../../domain/runners/cloud-event.ts';
import { TENANT } from '../fixtures/given.ts';

const AGENT = 'cagent0000000000000000000';
const DELIVERY = 'cdelivery0000000000000000';
const actor = { kind: 'system', id: 'webhook' } as const;
const facts = {
  integration_id: 'cintegration0000000000000',
  agent_id: AGENT,
  provider: 'github',
  provider_delivery_id: 'd-1',
  event: 'push',
  content_type: 'application/json',
};

const accepted = (body: string): Recorded => ({
  type: 'WebhookAccepted',
  data: new TextEncoder().encode(body),
  event_id: '00000000-0000-4000-8000-000000000001',
  stream: `delivery-${TENANT}.${DELIVERY}`,
  category: 'delivery',
  tenant: TENANT,
  id: DELIVERY,
  revision: 0,
  position: { commit: 7n, prepare: 8n },
  at: '2026-01-01T00:00:00.000Z',
  actor,
  meta: { tenant: TENANT, actor, at: '2026-01-01T00:00:00.000Z', v: 1, facts },
});

const parse = (payload: Uint8Array) => JSON.parse(new TextDecoder().decode(payload)) as Record<string, unknown>;

test('the relay publishes accepted deliveries and redeliveries, and events of no other type', () =>
  assert.equal(relayedEventTypes, ['WebhookAccepted', 'DeliveryRequeued']));

test('a message goes to the subject of its agent and carries the event id, the log position and the delivery id', () => {
  const { payload, ...message } = outgoingMessage(accepted('{"a":1}'), 'https://annals.test', MAX_INLINE_BYTES);
  assert.equal(message, {
    id: '00000000-0000-4000-8000-000000000001',
    token: '7:8',
    subject: `agents.${TENANT}.${AGENT}.inbound`,
    delivery: DELIVERY,
  });
  assert.equal(parse(payload).data, { a: 1 });
});

test("if a delivery's body exceeds the limit, the message contains the body's URL instead", () => {
  const { payload } = outgoingMessage(accepted('[1,2,3]'), 'https://annals.test', 6);
  assert.is(parse(payload).dataref, `https://annals.test/tenant/${TENANT}/deliveries/${DELIVERY}/body`);
});

test('the limit for a body within a message is small enough that its Base64 form and the envelope fit into the message, and never negative', () => {
  assert.equal([8_388_608, 1_048_576].map(inlineLimit), [MAX_INLINE_BYTES, MAX_INLINE_BYTES]);
  assert.is(inlineLimit(16_384 + 4_000), 3_000);
  assert.is(inlineLimit(1_000), 0);
});

test.run();
