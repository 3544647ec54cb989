import { createHmac } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';

const p = await startConsole();
const RUN = '/console/run/connectWebhookIntegration';

const preview = (fields: Record<string, string>) => p.submit(RUN, { ':tenant_id': p.tenant_id, _preview: '1', ...fields }, OWN_PAGE);
const custom = (options: Record<string, string>) =>
  preview({
    '/provider': 'custom_hmac',
    ...Object.fromEntries(Object.entries(options).map(([name, value]) => [`/options/${name}`, value])),
  });

const unescaped = (text: string): string => text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');

test('the form of a new integration shows the steps of the chosen provider without script, and connects nothing', async () => {
  const { text } = await p.open(`${RUN}?tenant_id=${p.tenant_id}`);
  assert.match(text, /data-tile-search[\s\S]+tile-search\.mjs[\s\S]+name="\/provider" value="github"/);
  assert.match(text, /name="_preview"[^>]*>Show the next steps</);
  const events = p.log.events.length;
  const github = await preview({ '/provider': 'github' });
  assert.equal([github.status, /Connect GitHub[\s\S]+class="setup-steps"/.test(github.text)], [200, true]);
  assert.match((await preview({})).text, /Choose a provider to see its steps here/);
  assert.is(p.log.events.length, events);
});

test('for a custom sender, the form shows what is signed and the headers, as another implementation makes them', async () => {
  for (const [options, algorithm, encoding, prefix] of [
    [{}, 'sha256', 'hex', ''],
    [{ algorithm: 'sha512', encoding: 'base64', header: 'X-Sig', prefix: 'v1=' }, 'sha512', 'base64', 'v1='],
    [{ signed_message: '{timestamp}.{body}', timestamp_header: 'X-Time', prefix: 'sha256=' }, 'sha256', 'hex', 'sha256='],
  ] as const) {
    const { status, text } = await custom(options);
    assert.is(status, 200, text);
    const signed = unescaped(/<pre[^>]* data-signed="">([^<]+)</.exec(text)![1]!);
    const signature = prefix + createHmac(algorithm, 'example-secret').update(signed).digest(encoding);
    const header = (options as { header?: string }).header ?? 'X-Signature';
    const shown = new RegExp(`<dt>${header}</dt><dd><code>([^<]+)<`).exec(text)![1]!;
    assert.is(unescaped(shown), signature);
    if ('timestamp_header' in options) assert.ok(signed.startsWith(`${/<dt>X-Time<\/dt><dd><code>(\d+)</.exec(text)![1]}.`), signed);
  }
  const key = await custom({ algorithm: 'ed25519' });
  assert.match(key.text, /<dt>X-Signature<\/dt><dd><code>the signature</);
});

test('a secret that was entered is not in the page after the steps or a refusal, and its field says so', async () => {
  const secret = 'a-secret-of-the-provider';
  const SAYS = /data-pointer="\/secret"[\s\S]{0,900}What you entered is not shown again/;
  const fields = { '_one/secret': 'pasted', '/provider': 'github' };
  const steps = await preview({ ...fields, '/secret': secret });
  const refused = await p.submit(RUN, { ':tenant_id': p.tenant_id, ...fields, '/secret': secret, '/label': 'x'.repeat(1_000) }, OWN_PAGE);
  assert.equal([steps.status, refused.status], [200, 422]);
  for (const { text } of [steps, refused]) {
    assert.match(text, SAYS);
    assert.not.match(text, secret);
  }
  assert.not.match((await preview(fields)).text, SAYS);
});

test('settings of a signature that cannot be used are refused at their fields while one types', async () => {
  for (const [options, name] of [
    [{ signed_message: 'no placeholder' }, 'signed_message'],
    [{ signed_message: '{timestamp}.{body}' }, 'signed_message'],
    [{ header: 'not a header' }, 'header'],
    [{ tolerance_seconds: '60' }, 'tolerance_seconds'],
  ] as const) {
    const { status, text } = await custom(options as never);
    assert.is(status, 422, name);
    assert.match(text, new RegExp(`data-pointer="/options/${name}"[\\s\\S]+?class="field-error"`), name);
  }
});

test.after(p.close);
test.run();
