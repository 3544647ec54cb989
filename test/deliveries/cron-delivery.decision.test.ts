import { hash } from 'node:crypto';
import { test } from 'uvu';
import { equal, is } from 'uvu/assert';
import { cronDelivery } from '../../domain/deliveries/cron-delivery.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';

const job = { ...CronJob.initial, id: 'job', agent_id: 'owner', name: 'Nightly' };
const message = { occurrence_id: 'occurrence', due_at: '2026-02-01T00:00:00.000Z', agent_id: 'target', at: '2026-02-01T00:00:01.000Z' };

const deliveryOf = (body: Buffer | null, headers: Record<string, string> = {}) =>
  cronDelivery({ ...job, headers, body_bytes: body === null ? null : body.toString('base64') }, message);

const BODIES: readonly (readonly [label: string, body: Buffer, type: string])[] = [
  ['JSON', Buffer.from('{"a":1}'), 'application/json'],
  ['text', Buffer.from('Guten Tag, Jürgen'), 'text/plain; charset=utf-8'],
  ['text that only begins like JSON', Buffer.from('{"a":'), 'text/plain; charset=utf-8'],
  ['bytes that are not text', Buffer.from([0xff, 0xfe, 0x00]), 'application/octet-stream'],
];

for (const [label, body, type] of BODIES) {
  test(`the message of a job with ${label} as its body has the media type ${type}, if the job names none`, () => {
    const { facts, body: sent } = deliveryOf(body, { 'x-other': 'image/png' });
    is(facts.content_type, type);
    equal(Buffer.from(sent), body);
  });

  test(`the message of a job with ${label} as its body has the media type that the job names`, () =>
    is(deliveryOf(body, { 'Content-Type': 'image/png' }).facts.content_type, 'image/png'));
}

test('the message of a job without a body describes the run as JSON', () => {
  const { facts, body } = deliveryOf(null, { 'content-type': 'image/png' });
  is(facts.content_type, 'application/json');
  equal(JSON.parse(new TextDecoder().decode(body)), {
    job_id: 'job',
    name: 'Nightly',
    occurrence_id: 'occurrence',
    due_at: '2026-02-01T00:00:00.000Z',
  });
});

test('the delivery goes to the target agent, and names the job, the run and the digest of the body', () => {
  const { facts } = deliveryOf(Buffer.from('hello'));
  equal(facts, {
    integration_id: 'job',
    agent_id: 'target',
    provider: 'cron',
    provider_delivery_id: 'occurrence',
    event: null,
    content_type: 'text/plain; charset=utf-8',
    sha256: hash('sha256', 'hello', 'hex'),
    size_bytes: 5,
    matched_secret: null,
    received_at: '2026-02-01T00:00:01.000Z',
    reason: null,
    guardrails: [],
    cron: { agent_id: 'owner', job_id: 'job', name: 'Nightly', occurrence_id: 'occurrence', due_at: '2026-02-01T00:00:00.000Z' },
  });
});

test.run();
