import { CloudEvent } from 'cloudevents';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { asyncapi } from '../../api/runners/asyncapi.ts';
import { decodeReport, encodeReport } from '../../commands/benchmarks/task-report.ts';
import * as BenchmarkRun from '../../domain/benchmarks/benchmark-run.ts';
import { benchmarkDelivery } from '../../domain/deliveries/benchmark-delivery.ts';
import type { Recorded } from '../../domain/event.ts';
import { encodeCloudEvent, MAX_INLINE_BYTES, runnerMessages, timeOf } from '../../domain/runners/cloud-event.ts';
import { TENANT } from '../fixtures/given.ts';
import { type Schema, schemaErrors } from '../fixtures/json-schema.ts';

const actor = { kind: 'system', id: 'webhook' } as const;
const facts = {
  integration_id: 'cintegration0000000000000',
  agent_id: 'cagent0000000000000000000',
  provider: 'github',
  provider_delivery_id: 'a "quoted" id',
  event: 'push',
  content_type: 'application/json',
};
const accepted = (body: string | Uint8Array, more: object = {}): Recorded => ({
  type: 'WebhookAccepted',
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
  meta: { tenant: TENANT, actor, at: '2026-01-01T00:00:00.000Z', v: 1, facts: { ...facts, ...more } },
});

const row = runnerMessages.WebhookAccepted!;
const textOf = (event: Recorded, limit?: number): string =>
  new TextDecoder().decode(encodeCloudEvent(event, row.type, row.message(event, 'https://annals.test'), limit));
const parsed = (event: Recorded, limit?: number) => JSON.parse(textOf(event, limit)) as Record<string, unknown>;

const document = asyncapi({ publicUrl: 'https://annals.test', version: '1.0.0' });
type Message = { payload: Schema; headers: Schema; examples: readonly { payload: Record<string, unknown>; headers: unknown }[] };
const { annalsBenchmarkResult, ...others } = document.components.messages;
const inbound = others as unknown as Readonly<Record<string, Message>>;

test('the message about a skill webhook call matches its schema, and its source is the skill', () => {
  const { type, message } = runnerMessages.SkillWebhookCalled!;
  const schema = inbound.annalsSkillCalled!.payload;
  const skill_id = 'cskill0000000000000000000';
  const event = accepted('{"a":1}', { skill_id, integration_id: skill_id, provider: 'skill', event: null });
  const encoded = encodeCloudEvent({ ...event, type: 'SkillWebhookCalled' }, type, message(event, 'https://annals.test'));
  const sent = JSON.parse(new TextDecoder().decode(encoded)) as Record<string, unknown>;
  assert.equal(schemaErrors(schema, sent, {}), []);
  assert.equal(
    Object.keys(sent).filter((name) => !(name in schema.properties!)),
    [],
  );
  assert.equal([sent.skill, sent.source], [skill_id, `https://annals.test/tenant/${TENANT}/skills/${skill_id}`]);
  assert.equal([sent.data, sent.type, 'integration' in sent], [{ a: 1 }, 'annals.skill.called', false]);
});

test('every message to a runner matches its schema in the AsyncAPI document, whatever the body of the delivery', () => {
  const schema = inbound.annalsWebhookAccepted!.payload;
  const events = [accepted('{"a":1}'), accepted('{"a":', { event: null }), accepted('x', { content_type: 'text/plain' })];
  const messages = [...events.map((event) => parsed(event)), parsed(accepted('[1,2,3]'), 2)];
  for (const message of messages) {
    assert.equal(schemaErrors(schema, message, {}), []);
    assert.equal(
      Object.keys(message).filter((name) => !(name in schema.properties!)),
      [],
    );
  }
});

test('the messages of benchmark runs and of their results match their schemas', () => {
  const { type, message } = runnerMessages.BenchmarkRunTriggered!;
  const run = { ...BenchmarkRun.initial, id: 'cdelivery0000000000000000', benchmark: 'sums', agent_id: facts.agent_id };
  const { body, facts: more } = benchmarkDelivery(run, [{ id: 'a', line: '{"id":"a","prompt":"1 + 1"}' }], '2026-01-01T00:00:00.000Z');
  const event = accepted(body, more);
  const sent = JSON.parse(new TextDecoder().decode(encodeCloudEvent(event, type, message(event, 'https://annals.test'))));
  const schema = inbound.annalsBenchmarkQueued!.payload;
  assert.equal(schemaErrors(schema, sent, {}), []);
  assert.equal(
    Object.keys(sent).filter((name) => !(name in schema.properties!)),
    [],
  );
  assert.equal(sent.data.tasks, [{ id: 'a', task: { id: 'a', prompt: '1 + 1' } }]);
  const [example] = annalsBenchmarkResult.examples;
  assert.equal(schemaErrors(annalsBenchmarkResult.payload as Schema, example!.payload, {}), []);
  assert.equal(decodeReport(encodeReport(example!.payload)), example!.payload);
});

test('the example of each message in the AsyncAPI document matches the schemas of the message and is a valid CloudEvent', () => {
  for (const { examples, headers, payload } of Object.values(inbound))
    for (const example of examples) {
      assert.equal(schemaErrors(payload, example.payload, {}), []);
      assert.equal(schemaErrors(headers, example.headers, {}), []);
      assert.ok(new CloudEvent<unknown>(example.payload, true).validate());
    }
});

test('the AsyncAPI document names the server, its credentials, and what a runner must do with messages', () => {
  assert.equal(document.servers.broker.security, [{ $ref: '#/components/securitySchemes/credential' }]);
  for (const word of [
    'inbox_prefix',
    'renew_at',
    'Bind',
    '+ACK',
    '-NAK',
    '+TERM',
    '+WPI',
    '10 attempts',
    '30 s',
    'ANNALS_EVENT_ID',
    'ANNALS_ATTEMPT',
    'ANNALS_RUNTIME',
    'TRACEPARENT',
    '1000 messages',
  ])
    assert.ok(document.info.description.includes(word), word);
});

test('every reference in the AsyncAPI document resolves', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path!);
  assert.ok(references.length >= 3);
  for (const path of references) {
    const found = path.split('/').reduce<unknown>((node, name) => (node as Record<string, unknown> | undefined)?.[name], document);
    assert.ok(found, path);
  }
});

test("every message is a valid CloudEvent in the official SDK's strict mode, whatever the body and the names in it", () => {
  const hostile = ['a "quoted" id', '../..', '\\', 'ü 🙂', '=1+1', '{{x}}', 'delivery_id'];
  const events = [
    ...hostile.map((name) => accepted('{"delivery_id":"another"}', { provider_delivery_id: name, event: name })),
    ...['{}', 'null', '"text"', '[1]', '{"a":', ''].map((body) => accepted(body)),
    accepted('payload=%7B%7D', { content_type: 'application/x-www-form-urlencoded', event: null }),
    accepted(new Uint8Array([0, 255]), { content_type: 'application/json; charset=utf-8' }),
    accepted('x', { content_type: '' }),
  ];
  for (const message of [...events.map((event) => parsed(event)), parsed(accepted('[1,2,3]'), 2)])
    assert.ok(new CloudEvent(message, true).validate(), JSON.stringify(message));
});

test('in a message to a runner, deliveryid is the id that Annals gave the delivery, and providerid the id that the provider gave it', () => {
  const message = parsed(accepted('{}'));
  assert.equal(
    [message.deliveryid, message.subject, message.providerid],
    ['cdelivery0000000000000000', 'cdelivery0000000000000000', facts.provider_delivery_id],
  );
});

test('every message to a runner marks its content as untrusted, and has the labels of the guardrails and the id of the delivery that caused it', () => {
  const guardrails = [
    { rule: 'json', verdict: 'pass', note: null },
    { rule: 'injection', verdict: 'label', note: 'ignore_instructions' },
    { rule: 'no keys', verdict: 'redact', note: 'no keys: 1' },
    { rule: 'big', verdict: 'label', note: '9 bytes' },
  ];
  const { contenttrust, labels, causedby } = parsed(
    accepted('{}', { guardrails, cause: { delivery_id: 'cearlier0000000000000000a', depth: 2 } }),
  );
  assert.equal([contenttrust, labels, causedby], ['untrusted', 'injection,big', 'cearlier0000000000000000a']);
  const plain = parsed(accepted('{}', { guardrails: guardrails.slice(0, 1) }));
  assert.equal([plain.contenttrust, 'labels' in plain, 'causedby' in plain], ['untrusted', false, false]);
});

test('a message contains the body of a delivery as JSON only if its content type is JSON and its bytes are valid JSON', () => {
  const formOf = (body: string | Uint8Array, content_type: string): string =>
    ['data', 'data_base64', 'dataref'].filter((name) => name in parsed(accepted(body, { content_type }))).join();
  assert.is(formOf('{}', 'application/json'), 'data');
  assert.is(formOf('null', 'Application/JSON; charset=utf-8'), 'data');
  assert.is(formOf('{}', 'application/vnd.github+json'), 'data');
  assert.is(formOf('{}', 'application/jsonish'), 'data_base64');
  assert.is(formOf('{}', 'text/plain'), 'data_base64');
  assert.is(formOf('{} x', 'application/json'), 'data_base64');
  assert.is(formOf(new Uint8Array([0x22, 0xff, 0x22]), 'application/json'), 'data_base64');
  assert.is(formOf(`\u{feff}{}`, 'application/json'), 'data');
  assert.is(formOf('', 'application/json'), 'data_base64');
  assert.is(formOf(`"${'x'.repeat(MAX_INLINE_BYTES)}"`, 'application/json'), 'dataref');
});

test('if a delivery has no content type, the message about it has no datacontenttype', () =>
  assert.not('datacontenttype' in parsed(accepted('x', { content_type: '' }))));

test("the time of receipt can be read from an encoded message, whatever the body and the provider's texts contain", () => {
  const claim = '"time":"2000-01-01T00:00:00.000Z"';
  for (const event of [
    accepted(`{${claim}}`),
    accepted('x'.repeat(100_000)),
    accepted('{}', { event: claim, provider_delivery_id: claim }),
  ])
    assert.is(timeOf(encodeCloudEvent(event, row.type, row.message(event, 'https://annals.test'))), event.at);
  assert.is(timeOf(new TextEncoder().encode('not a CloudEvent')), null);
});

test.run();
