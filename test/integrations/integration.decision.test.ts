import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { fold } from '../../domain/aggregate.ts';
import { jsonOf, mediaOf } from '../../domain/bodies/body-inspection.ts';
import { checkBodyReplay, REPLAY_WINDOW_MS } from '../../domain/deliveries/replay-guard.ts';
import type { Recorded } from '../../domain/event.ts';
import { evaluateGuardrails } from '../../domain/guardrails/guardrail.ts';
import { isDeliveryId } from '../../domain/integrations/delivery-identity.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import { Refusal } from '../../domain/refusal.ts';

const connection: Integration.IntegrationConnection = {
  tenant_id: 't',
  provider: 'github',
  agent_id: 'a',
  label: 'Code',
  delivery_id_source: null,
  event_filter: [],
  replay_guard: 'mark',
  options: {},
  sealed_secret: 'sealed-1',
  secret_hint: '…1111',
};
const at = '2026-01-01T00:00:00.000Z';
const after = (...events: Integration.IntegrationEvent[]) =>
  fold(Integration, events.map((event) => ({ ...event, id: 'i', at })) as Recorded<Integration.IntegrationEvent>[]);
const connected = { type: 'IntegrationConnected', data: connection } as const;
const refusal = (work: () => unknown): string => {
  try {
    work();
    return 'none';
  } catch (error) {
    return error instanceof Refusal ? error.code : String(error);
  }
};

test('an update of an integration that changes nothing emits no event', () => {
  assert.equal(Integration.update('t', { label: 'Code', event_filter: [] })(after(connected)), []);
  assert.equal(Integration.update('t', { label: 'Other' })(after(connected)), [{ type: 'IntegrationUpdated', data: { label: 'Other' } }]);
});

test('resuming a paused integration also removes the stored reason for the pause', () => {
  const paused = after(connected, { type: 'IntegrationUpdated', data: { is_paused: true, paused_reason: 'moving' } });
  assert.equal(Integration.update('t', { is_paused: false })(paused), [
    { type: 'IntegrationUpdated', data: { is_paused: false, paused_reason: null } },
  ]);
});

test('decisions on a disconnected integration, or on one of another tenant, are refused with the code not_found', () => {
  for (const decide of [Integration.update('u', {}), Integration.disconnect('u'), Integration.rotateSecret('u', connection, 0, at)]) {
    assert.is(
      refusal(() => decide(after(connected))),
      'not_found',
    );
  }
  const disconnected = after(connected, { type: 'IntegrationDisconnected', data: {} });
  assert.is(
    refusal(() => Integration.disconnect('t')(disconnected)),
    'not_found',
  );
});

test('after a rotation, the previous secret is valid until the overlap of the two secrets ends; without an overlap, it becomes invalid at once', () => {
  const rotated = (overlap: number) =>
    after(connected, ...Integration.rotateSecret('t', { sealed_secret: 'sealed-2', secret_hint: '…2222' }, overlap, at)(after(connected)));
  const overlapping = rotated(60);
  assert.equal([overlapping.sealed_secret, overlapping.sealed_previous_secret], ['sealed-2', 'sealed-1']);
  assert.ok(Integration.acceptsPreviousSecret(overlapping, '2026-01-01T00:00:59.999Z'));
  assert.not.ok(Integration.acceptsPreviousSecret(overlapping, '2026-01-01T00:01:00.000Z'));
  assert.equal([rotated(0).sealed_previous_secret, Integration.acceptsPreviousSecret(rotated(0), at)], [null, false]);
});

test('if several rules block a delivery, the recorded reason is that of the rule that comes first in a fixed order', () => {
  const input = {
    integration: { is_paused: false, event_filter: [] as string[] },
    isAgentActive: true,
    event: 'push',
    json: 'json',
  } as const;
  const reason = (more: object) => evaluateGuardrails({ ...input, ...more } as never).reason;
  assert.is(reason({}), null);
  assert.is(reason({ integration: { is_paused: true, event_filter: ['x'] }, isAgentActive: false, json: 'not_json' }), 'paused');
  assert.is(reason({ isAgentActive: false, json: 'not_json' }), 'agent_inactive');
  assert.is(reason({ integration: { is_paused: false, event_filter: ['x'] }, json: 'not_json' }), 'event_filter');
  assert.is(reason({ integration: { is_paused: false, event_filter: ['push'] } }), null);
  assert.is(reason({ integration: { is_paused: false, event_filter: ['push'] }, event: null }), 'event_filter');
  assert.equal([reason({ json: 'not_json' }), reason({ json: 'too_deep' })], ['not_json', 'too_deep']);
});

test('a delivery is accepted only with a supported content type, a well-formed form and a valid delivery id', () => {
  assert.equal(
    ['application/json', 'Application/JSON; charset=utf-8', 'application/x-www-form-urlencoded', 'text/plain', '', 'application/jsonp'].map(
      mediaOf,
    ),
    ['json', 'json', 'form', null, null, null],
  );
  const form = (text: string) => jsonOf({ media: 'form', forms: 'payload' }, Buffer.from(text));
  assert.equal(['payload={}', 'a=1&payload=%7B%22a%22%3A1%7D', 'payload=%7', 'xpayload={}', 'payload=', '', 'payload=%zz'].map(form), [
    'json',
    'json',
    'not_json',
    'not_json',
    'not_json',
    'not_json',
    'not_json',
  ]);
  assert.equal(['', 'x', 'x'.repeat(255), 'x'.repeat(256), 'a\0', 'a\r\n', 'a\x7f', '\ud800'].map(isDeliveryId), [
    false,
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});

test('a delivery is a replay if its body was received under another delivery id within the last three days', () => {
  const seen = { provider_delivery_id: '1', at };
  const later = (ms: number) => new Date(Date.parse(at) + ms).toISOString();
  assert.is(checkBodyReplay({ provider_delivery_id: null, at: '' }, '1', at), 'first');
  assert.is(checkBodyReplay(seen, '1', later(1)), 'known');
  assert.is(checkBodyReplay(seen, '2', later(REPLAY_WINDOW_MS)), 'replay');
  assert.is(checkBodyReplay(seen, '2', later(REPLAY_WINDOW_MS + 1)), 'first');
});

test.run();
