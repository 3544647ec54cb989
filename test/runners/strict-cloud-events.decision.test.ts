import { CloudEvent } from 'cloudevents';
import type { Msg } from 'nats';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { asyncapi } from '../../api/runners/asyncapi.ts';
import type { Recorded } from '../../domain/event.ts';
import { omit } from '../../domain/omit.ts';
import { encodeCloudEvent, runnerMessages } from '../../domain/runners/cloud-event.ts';
import { parseEvent, withBody, withValidNames } from '../../infra/runner/cloud-event.ts';
import { TENANT } from '../fixtures/given.ts';
import { type Schema, schemaErrors } from '../fixtures/json-schema.ts';

const FORM = 'application/x-www-form-urlencoded';
const VALUE = { id: 12, text: 'ü & =' };
const JSON_TEXT = JSON.stringify(VALUE);
const PAYLOAD = `payload=${encodeURIComponent(JSON_TEXT)}`;
const LARGE = JSON.stringify({ text: 'x'.repeat(100_000) });
const LARGE_PAYLOAD = `payload=${encodeURIComponent(LARGE)}`;
const JSON_PASSED = [{ rule: 'json', verdict: 'pass', note: null }];
const REDACTED = [...JSON_PASSED, { rule: 'no keys', verdict: 'redact', note: 'no keys: 1' }];

const actor = { kind: 'system', id: 'webhook' } as const;
const facts = {
  integration_id: 'cintegration0000000000000',
  agent_id: 'cagent0000000000000000000',
  provider: 'github',
  provider_delivery_id: 'd-1',
  event: 'push',
  content_type: 'application/json',
};
/** Facts that only deliveries of one type have, and that are ignored by all others. */
const origins = {
  skill_id: 'cskill0000000000000000000',
  cron: {
    job_id: 'cjob000000000000000000000',
    agent_id: facts.agent_id,
    name: 'Weekly\u{fdd0}',
    occurrence_id: 'o-1',
    due_at: '2026-01-01T00:00:00.000Z',
  },
  benchmark: 'sums',
  mail: {},
};

const eventOf = (type: string, body: string | Uint8Array, more: object): Recorded => ({
  type,
  data: typeof body === 'string' ? new TextEncoder().encode(body) : body,
  event_id: '00000000-0000-4000-8000-000000000001',
  stream: `delivery-${TENANT}.cdelivery0000000000000000`,
  category: 'delivery',
  tenant: TENANT,
  id: 'cdelivery0000000000000000',
  revision: 0,
  position: { commit: 1n, prepare: 1n },
  at: '2026-01-01T00:00:00.000Z',
  actor,
  meta: { tenant: TENANT, actor, at: '2026-01-01T00:00:00.000Z', v: 1, facts: { ...facts, ...origins, ...more } },
});

type Parsed = Record<string, unknown>;
const parse = (bytes: Uint8Array): Parsed => JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Parsed;

/** Encodes the message about an event, and also returns what `--exec` and `--forward` hand over. */
const handedOver = (event: Recorded, body = event.data as Uint8Array): { readonly sent: Parsed; readonly received: Parsed } => {
  const { type, message } = runnerMessages[event.type]!;
  const sent = encodeCloudEvent(event, type, message(event, 'https://annals.test'));
  const parsed = parseEvent({ data: sent } as Msg)!;
  return { sent: parse(sent), received: parse(parsed.dataref === undefined ? withValidNames(parsed, sent) : withBody(parsed, body)) };
};

/** What the type system of CloudEvents 1.0.2 forbids, and the official SDK does not check. */
const violations = (event: Parsed): string[] => {
  const attributes = Object.entries(event).filter(([name]) => name !== 'data' && name !== 'data_base64');
  const faulty = attributes.filter(
    ([name, value]) =>
      !/^[a-z0-9]{1,20}$/.test(name) || typeof value !== 'string' || !/^[^\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]+$/u.test(value),
  );
  const contents = ['data', 'data_base64', 'dataref'].filter((name) => name in event);
  return [...faulty.map(([name]) => name), ...(contents.length === 1 ? [] : [`contents: ${contents}`])];
};

const assertStrict = (event: Parsed, what: string): void => {
  assert.equal(violations(event), [], what);
  assert.ok(new CloudEvent(event as never, true).validate(), what);
};

/** The bodies and facts that deliveries can have. */
const CONTENTS: readonly (readonly [name: string, body: string | Uint8Array, more?: object])[] = [
  ['JSON', JSON_TEXT],
  ['JSON with a byte order mark', `\u{feff}${JSON_TEXT}`],
  ['JSON with a known verdict and a byte order mark', `\u{feff}${JSON_TEXT}`, { guardrails: JSON_PASSED }],
  ['numbers beyond 2^53', '{"a":9007199254740993,"b":1e400}'],
  ['a scalar', 'null'],
  ['an empty body', ''],
  ['a large body', LARGE],
  ['a large body in chunks', '', { parts: 2, size_bytes: 1_000_000, guardrails: JSON_PASSED }],
  ['a large body that is not JSON', 'x'.repeat(100_000), { content_type: 'text/plain' }],
  ['a large body of an unknown type', 'x'.repeat(100_000), { content_type: '' }],
  ['a form', 'a=1&b=2', { content_type: FORM }],
  ['a large form', `a=${'x'.repeat(100_000)}`, { content_type: FORM }],
  ['JSON in a form', PAYLOAD, { content_type: FORM }],
  ['large JSON in a form', LARGE_PAYLOAD, { content_type: FORM }],
  ['bytes', new Uint8Array([0, 255, 254])],
  ['no content type', 'x', { content_type: '' }],
  ['control characters in the content type', 'x', { content_type: 'text/plain;\tcharset=utf-8;' }],
  ['noncharacters in its names', JSON_TEXT, { event: 'a\u{fffe}b', provider_delivery_id: '\u{1ffff}' }],
  ['control characters in its names', JSON_TEXT, { event: 'a\u0085b', provider_delivery_id: 'a\u0000b' }],
  ['unpaired surrogates in its names', JSON_TEXT, { event: '\ud800', provider_delivery_id: '\udfff' }],
  ['empty names', JSON_TEXT, { event: '', provider_delivery_id: '', traceparent: '' }],
  [
    'labels, a cause and a trace context',
    JSON_TEXT,
    { guardrails: [{ rule: 'big', verdict: 'label', note: null }], cause: { delivery_id: 'c1', depth: 1 }, traceparent: '00-1-1-00' },
  ],
  ['a redelivery', JSON_TEXT, { redelivery_of: '00000000-0000-4000-8000-000000000002' }],
];

const isJson = (body: string | Uint8Array): boolean => typeof body === 'string' && body.startsWith('{');
const isOfDelivery = (type: string): boolean => type !== 'CredentialSubmitted' && !/^(?:Session|Approval)/.test(type);
const TYPES = Object.keys(runnerMessages).filter(isOfDelivery);

for (const type of TYPES)
  test(`each message about ${type} is a strict CloudEvent as it leaves the relay, --exec and --forward`, () => {
    for (const [name, body, more = {}] of CONTENTS) {
      // The platform writes the body of a benchmark run itself.
      if (type === 'BenchmarkRunTriggered' && (body === '' || !isJson(body))) continue;
      const { sent, received } = handedOver(eventOf(type, body, more));
      assertStrict(sent, name);
      assertStrict(received, name);
      const { dataref, ...attributes } = omit(sent, 'data', 'data_base64', 'datacontenttype');
      const handed = omit(received, 'data', 'data_base64', 'datacontenttype');
      assert.equal(handed, attributes, `${name}: the attributes of a referenced body`);
      assert.is('dataref' in received, false, `${name} ${dataref}`);
    }
  });

test('the message about a fulfilled credential request is a strict CloudEvent', () => {
  const { type, message } = runnerMessages.CredentialSubmitted!;
  const event = { ...eventOf('CredentialSubmitted', '', {}), data: { agent_id: facts.agent_id } } as unknown as Recorded;
  assertStrict(parse(encodeCloudEvent(event, type, message(event, 'https://annals.test'))), type);
});

const idOf = (name: string): string => `c${name.padEnd(24, '0')}`;
const file = { filename: 'a\u0000b.log', content_type: 'text/plain', size_bytes: 1, sha256: 'a'.repeat(64) };
const files = [{ ...file, attachment_id: idOf('attachment') }];
const message = { message_id: idOf('message'), role: 'user', kind: null, model_id: null, sealed_content: 'v1', files };
const previous = '00000000-0000-4000-8000-000000000002';

/** The events of sessions that are sent to runners, and their data apart from the agent. */
const SESSION_EVENTS: readonly (readonly [type: string, data: Readonly<Record<string, unknown>>])[] = [
  ['SessionAssigned', { title: 'a\u0000b', previous: null, continues_id: null, message }],
  ['SessionAssigned', { title: null, previous: null, continues_id: idOf('old'), message: null }],
  ['SessionMessageSent', { title: null, previous, ...message }],
  ['SessionInterrupted', { title: null, previous }],
  ['SessionCancelled', { title: null, previous: null }],
  ['ApprovalDecided', { title: null, previous, message_id: idOf('message'), decision: 'denied' }],
  ['ApprovalExpired', { title: null, previous, message_id: idOf('message') }],
];

for (const [index, [eventType, data]] of SESSION_EVENTS.entries())
  test(`the message about ${eventType} (case ${index}) is a strict CloudEvent that matches its schema`, () => {
    const { type, message: messageOf } = runnerMessages[eventType]!;
    const { agent_id } = facts;
    const event = { ...eventOf(eventType, '', {}), id: idOf('session'), actor: { kind: 'user', id: idOf('user') }, content: 'ü\u0000 🙂' };
    const sent = messageOf({ ...event, data: { agent_id, ...data } } as never, 'https://annals.test');
    const encoded = parse(encodeCloudEvent(event as never, type, sent));
    assertStrict(encoded, type);
    assert.equal([encoded.session, encoded.previous], [event.id, data.previous ?? undefined]);
    const { components } = asyncapi({ publicUrl: 'https://annals.test', version: '1.0.0' });
    const schema = Object.values(components.messages).find(({ name }) => name === type)!.payload as Schema;
    assert.equal(schemaErrors(schema, encoded, {}), []);
    assert.equal(
      Object.keys(encoded).filter((name) => !(name in schema.properties!)),
      [],
    );
  });

/** JSON in a form as providers send it, and the object that the runner must get under `data`. */
const FORMS: readonly (readonly [source: string, body: string, data: unknown, more?: object])[] = [
  ["GitHub's default content type", PAYLOAD, VALUE],
  [
    'Slack: block_actions',
    `payload=${encodeURIComponent('{"type":"block_actions","token":"x"}')}`,
    { type: 'block_actions', token: 'x' },
    { provider: 'slack' },
  ],
  ['a blank as +', 'payload=%7B%22a%22%3A%22b+c%22%7D', { a: 'b c' }],
  ['lower-case hexadecimal digits', 'payload=%7b%22a%22%3a1%7d', { a: 1 }],
  ['a charset', PAYLOAD, VALUE, { content_type: `${FORM}; charset=UTF-8` }],
  ['a byte order mark', `\u{feff}${PAYLOAD}`, VALUE],
  ['a byte order mark in the field', `payload=%EF%BB%BF${encodeURIComponent(JSON_TEXT)}`, VALUE],
  ['a known verdict', PAYLOAD, VALUE, { guardrails: JSON_PASSED }],
  ['a redaction', PAYLOAD, VALUE, { guardrails: REDACTED }],
  ['a redelivery', PAYLOAD, VALUE, { redelivery_of: '00000000-0000-4000-8000-000000000002' }],
  ['further fields', `a=1&${PAYLOAD}&b=2`, VALUE],
  ['more than 64 KiB', LARGE_PAYLOAD, JSON.parse(LARGE)],
  ['more than 64 KiB and a redaction', LARGE_PAYLOAD, JSON.parse(LARGE), { guardrails: REDACTED }],
];

for (const [source, body, data, more = {}] of FORMS)
  test(`JSON in a form is the data of the runner's event: ${source}`, () => {
    const { received } = handedOver(eventOf('WebhookAccepted', body, { content_type: FORM, ...more }));
    assert.equal([received.data, received.datacontenttype, received.formfield], [data, 'application/json', 'payload']);
  });

test('the numbers in a form keep their digits', () => {
  const { type, message } = runnerMessages.WebhookAccepted!;
  const event = eventOf('WebhookAccepted', 'payload=%7B%22id%22%3A9007199254740993%7D', { content_type: FORM });
  const text = new TextDecoder().decode(encodeCloudEvent(event, type, message(event, 'https://annals.test')));
  assert.ok(text.endsWith(',"data":{"id":9007199254740993}}'), text);
});

test('a large form in chunks says which field has the JSON, and the runner takes it from there', () => {
  const event = eventOf('WebhookAccepted', '', { content_type: FORM, parts: 2, size_bytes: 1_000_000, guardrails: JSON_PASSED });
  const { sent, received } = handedOver(event, new TextEncoder().encode(LARGE_PAYLOAD));
  assert.equal([sent.datacontenttype, sent.formfield, 'dataref' in sent], [FORM, 'payload', true]);
  assert.equal([received.datacontenttype, received.formfield, received.data], ['application/json', 'payload', JSON.parse(LARGE)]);
});

test('a form without JSON stays a form, whatever its size', () => {
  for (const body of ['a=1', 'payload=x', `payload=x&b=${'y'.repeat(100_000)}`]) {
    const { received } = handedOver(eventOf('WebhookAccepted', body, { content_type: FORM }));
    assert.equal(
      [received.data_base64, received.datacontenttype, 'formfield' in received],
      [Buffer.from(body).toString('base64'), FORM, false],
    );
  }
});

test('a message of an earlier version is handed over with a valid name for its delivery id, and its data unchanged', () => {
  const old = omit({ ...handedOver(eventOf('WebhookAccepted', '{}', {})).sent, delivery_id: '' }, 'delivery_id');
  const attributes = omit(old as Parsed, 'data', 'providerid');
  const head = JSON.stringify({ ...attributes, delivery_id: 'd-1' }).slice(0, -1);
  const small = Buffer.from(`${head},"data":{"delivery_id":9007199254740993}}`);
  const handed = Buffer.from(withValidNames(parseEvent({ data: small } as unknown as Msg)!, small)).toString();
  assert.ok(handed.endsWith('"providerid":"d-1","data":{"delivery_id":9007199254740993}}'), handed);
  const large = parseEvent({ data: Buffer.from(`${head},"dataref":"https://annals.test/body"}`) } as unknown as Msg)!;
  for (const event of [parse(Buffer.from(handed)), parse(withBody(large, Buffer.from('{}')))]) {
    assertStrict(event, 'earlier');
    assert.is(event.providerid, 'd-1');
  }
});

test.run();
