import { gzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebhookPlatform, sign } from '../fixtures/webhook-platform.ts';

const HOSTILE_BODIES: Readonly<Record<string, string>> = {
  'the character NUL': '{"a":"\\u0000"}',
  'an unpaired surrogate': '{"a":"\\ud800"}',
  'numbers that JavaScript cannot represent': '{"a":9007199254740993,"b":1e400,"c":-0,"d":0.1000000000000000055511151231257827}',
  'repeated names': '{"a":1,"a":2}',
  'names of the prototype': '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
  '100,000 names': JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`n${index}`, index]))),
  'a text of 1 MiB': JSON.stringify({ a: 'x'.repeat(1_048_576) }),
};

test('a signed delivery with unusual JSON is accepted, its bytes are stored unchanged, and all projections can apply its event', async () => {
  const given = await createWebhookPlatform();
  for (const [what, body] of Object.entries(HOSTILE_BODIES)) {
    const answer = await given.deliver(body, { 'x-github-delivery': what.replaceAll(' ', '-') });
    assert.equal([answer.status, answer.json.outcome], [202, 'accepted'], what);
    const stored = await given.call('GET', `deliveries/${answer.json.id}/body`);
    assert.ok(stored.status === 200 && stored.text === body, what);
    assert.is((await given.call('GET', `deliveries/${answer.json.id}`)).status, 200, what);
  }
  assert.is((await given.call('GET', 'deliveries')).status, 200);
  assert.is(({} as { polluted?: boolean }).polluted, undefined);
  await given.close();
});

test('a delivery with a compressed body and without a signature, or with that of another body, gets 401', async () => {
  const given = await createWebhookPlatform();
  const compressed = new Uint8Array(gzipSync('{"zen":"Keep it simple"}'));
  for (const signature of [sign('{"zen":"Keep it"}'), null])
    assert.is((await given.deliver(compressed, { 'content-encoding': 'gzip', 'x-hub-signature-256': signature })).status, 401);
  assert.equal(given.accepted(), []);
  await given.close();
});

test.run();
