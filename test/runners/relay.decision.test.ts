import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { inlineLimit, outgoingMessage, relayedEventTypes } from '../../commands/runners/relay.reactor.ts';
import * as Delivery from '../../domain/deliveries/delivery.ts';
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

test('the relay publishes accepted deliveries, calls, messages of cron jobs, redeliveries, releases and what people do in sessions', () =>
  assert.equal(relayedEventTypes, [
    'WebhookAccepted',
    'SkillWebhookCalled',
    'CronJobTriggered',
    'BenchmarkRunTriggered',
    'MailReceived',
    'CredentialSubmitted',
    'SessionAssigned',
    'SessionMessageSent',
    'SessionInterrupted',
    'SessionCancelled',
    'ApprovalDecided',
    'ApprovalExpired',
    'DeliveryRequeued',
    'SessionMessageRepeated',
    'DeliveryReleased',
  ]));

test('a message is published to the subject of its agent and contains the event id, the log position and the delivery id', () => {
  const { payload, ...message } = outgoingMessage(accepted('{"a":1}'), 'https://annals.test', MAX_INLINE_BYTES);
  assert.equal(message, {
    id: '00000000-0000-4000-8000-000000000001',
    token: '7:8',
    subject: `agents.${TENANT}.${AGENT}.inbound`,
    delivery: DELIVERY,
  });
  assert.equal(parse(payload).data, { a: 1 });
});

test('if the body of a delivery exceeds the limit, the message contains the URL of the body instead of the body', () => {
  const { payload } = outgoingMessage(accepted('[1,2,3]'), 'https://annals.test', 6);
  assert.is(parse(payload).dataref, `https://annals.test/tenant/${TENANT}/deliveries/${DELIVERY}/body`);
});

test('the maximum size of a body in a message leaves room for the Base64 form of the body and for the envelope, and is never negative', () => {
  assert.equal([8_388_608, 1_048_576].map(inlineLimit), [MAX_INLINE_BYTES, MAX_INLINE_BYTES]);
  assert.is(inlineLimit(16_384 + 4_000), 3_000);
  assert.is(inlineLimit(1_000), 0);
});

test('a message that repeats a lost message has the same bytes, except for the id and the position of the event that repeats it', () => {
  const own = accepted('{"a":1}');
  const requeued = (number: number, data: { agent_id: string; repeats?: string }) =>
    ({
      ...own,
      type: 'DeliveryRequeued',
      data,
      event_id: `00000000-0000-4000-8000-00000000000${number}`,
      at: `2026-01-0${number}T00:00:00.000Z`,
      position: { commit: BigInt(number * 10), prepare: BigInt(number * 10) },
    }) as Recorded<Delivery.DeliveryEvent>;
  const again = requeued(2, { agent_id: AGENT });
  const messageOf = (event: Recorded<Delivery.DeliveryEvent>, earlier: readonly Recorded[]) =>
    outgoingMessage(Delivery.messageSource(event, own, earlier), 'https://annals.test', MAX_INLINE_BYTES, event);
  const first = messageOf(requeued(3, { agent_id: AGENT, repeats: own.event_id }), [own]);
  assert.equal([first.id, first.token], ['00000000-0000-4000-8000-000000000003', '30:30']);
  assert.equal(parse(first.payload), parse(outgoingMessage(own, 'https://annals.test', MAX_INLINE_BYTES).payload));
  const second = messageOf(requeued(4, { agent_id: AGENT, repeats: again.event_id }), [own, again]);
  assert.equal(parse(second.payload), parse(messageOf(again, [own]).payload));
  assert.is(parse(second.payload).id, again.event_id);
});

test('a lost message is repeated only if it is the last one of its delivery, and the repetition always names the original message', () => {
  const own = accepted('{"a":1}') as Recorded<Delivery.DeliveryEvent>;
  const state = Delivery.evolve(Delivery.initial, own);
  const [event] = Delivery.repeatLost(own.event_id)(state);
  assert.equal(event, { type: 'DeliveryRequeued', data: { agent_id: AGENT, repeats: own.event_id } });
  const repeated = { ...own, ...event, event_id: 'second' } as Recorded<Delivery.DeliveryEvent>;
  const after = Delivery.evolve(state, repeated);
  assert.equal(Delivery.repeatLost(own.event_id)(after), []);
  const [again] = Delivery.repeatLost('second')(after);
  assert.equal(again, event);
});

test.run();
