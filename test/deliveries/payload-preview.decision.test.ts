import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { deliveryPreview } from '../../commands/deliveries/delivery-preview.ts';
import { contentOf } from '../../domain/bodies/body-inspection.ts';
import { payloadPreview } from '../../domain/deliveries/payload-preview.ts';
import { PROVIDER_DEFINITIONS, PROVIDERS } from '../../domain/integrations/provider.ts';

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

const preview = (provider: string, document: unknown) => payloadPreview(provider, document).map(({ name, value }) => `${name}: ${value}`);

test('every sample of a provider has a preview', () => {
  for (const [provider, { event, body }] of PROVIDERS.flatMap((one) =>
    PROVIDER_DEFINITIONS[one].samples.map((sample) => [one, sample] as const),
  )) {
    if (body.startsWith('[')) continue;
    const type = body.startsWith('{') ? JSON_TYPE : FORM_TYPE;
    assert.ok(payloadPreview(provider, contentOf(type, Buffer.from(body))).length > 0, `${provider} ${event}`);
  }
});

test('a preview has the two best fields of the provider; of an unknown provider, the first fields of the document', () => {
  const push = { zen: 'z', ref: 'refs/heads/main', repository: { full_name: 'acme/app' }, head_commit: { message: 'Fix it' } };
  assert.equal(preview('github', push), ['message: Fix it', 'ref: refs/heads/main']);
  assert.equal(preview('github', { action: 'opened', pull_request: { title: 'Add a file' } }), ['title: Add a file', 'action: opened']);
  assert.equal(preview('mail', { from: 'a@example.com', subject: 'Hello', text: 'long' }), ['subject: Hello', 'from: a@example.com']);
  assert.equal(preview('custom_hmac', { list: [1], on: true, kind: 'build', number: 7, more: 'x' }), ['kind: build', 'number: 7']);
  assert.equal(preview('skill', { data: { 'a/b~c': 'nested' } }), ['a/b~c: nested']);
});

test('a value in a preview is one line of at most 80 characters without invisible ones; documents without usable fields have none', () => {
  assert.equal(preview('custom_hmac', { text: `a\u202eb\n\tc${'d'.repeat(200)}` }), [`text: a b c${'d'.repeat(75)}`]);
  assert.equal(preview('custom_hmac', { text: '\u200b\u0000', '\u0007': 'x' }), []);
  for (const document of [null, 1, 'text', [], ['a'], {}, { data: null }, { nested: {} }])
    assert.equal(preview('custom_hmac', document), []);
  assert.equal(preview('github', { pull_request: { title: { not: 'a text' } }, ref: 1.5 }), []);
  assert.equal(preview('github', { pull_request: { title: '' }, other: 'shown' }), ['other: shown']);
});

test('the preview of a recorded delivery reads JSON and forms; a body that is large, damaged or not JSON has none', () => {
  const read = (provider: string, content_type: string, body: string | object) => {
    const facts = { provider, content_type } as never;
    return deliveryPreview({ facts, body: typeof body === 'string' ? Buffer.from(body) : (body as never) });
  };
  assert.equal(read('twilio', FORM_TYPE, 'Body=Ahoy%21&From=%2B1'), [
    { name: 'body', value: 'Ahoy!' },
    { name: 'from', value: '+1' },
  ]);
  const title = [{ name: 'title', value: 'T' }];
  assert.equal(read('github', FORM_TYPE, `payload=${encodeURIComponent('{"issue":{"title":"T"}}')}`), title);
  assert.equal(read('github', 'application/json; charset=utf-8', '{"issue":{"title":"T"}}'), title);
  assert.equal(read('github', JSON_TYPE, '{"issue":{"title":"T"}'), []);
  assert.equal(read('cron', 'text/plain', 'hello'), []);
  assert.equal(read('github', JSON_TYPE, JSON.stringify({ issue: { title: 'T' }, filler: 'x'.repeat(140_000) })), []);
  assert.equal(read('github', JSON_TYPE, { unreadable: 'damaged' }), []);
});

test.run();
