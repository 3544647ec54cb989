import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startConsole } from '../fixtures/console-platform.ts';

const p = await startConsole();

test('an external link gets 422 unless it is an http(s) URL without a password, and with known placeholders only after the host', async () => {
  const statusOf = async (url: string) => (await p.send('PATCH', p.tenant, { body: { external_links: [{ label: 'A', url }] } })).status;
  for (const url of [
    'javascript:alert(1)',
    'https://{trace_id}.example.com/',
    'https://user:secret@example.com/',
    'https://example.com/{unknown}',
    'https://example.com/{trace_id',
    'https://example.com/a b',
    'https://',
    '/relative',
    `https://example.com/${'a'.repeat(1_024)}`,
  ])
    assert.is(await statusOf(url), 422, url);
  assert.is(await statusOf('http://traces.test:3000/#/{trace_id}'), 200);
  assert.is(await statusOf('https://example.com/{id}/{request_id}/{trace_id}/{delivery_id}/{tenant_id}'), 200);
  assert.is((await p.send('PATCH', p.tenant, { body: { external_links: [] } })).status, 200);
});

test.after(() => p.close());
test.run();
