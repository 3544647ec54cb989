import { sign as cryptoSign, generateKeyPairSync } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createAgent, createIntegration, deliver, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { addMember } from '../fixtures/users.ts';
import { sign } from '../fixtures/webhook-platform.ts';

const NEW_SECRET = 'a new secret for the same integration';

const p = await startConsole();
const agent = await createAgent(p, 'Reviewer');
const integration = await createIntegration(p, agent, 'annals/<b>core</b>');
const path = `${p.base}/integrations/${integration}`;

/** Opens a page repeatedly until it contains this text, because the read models may lag behind the log. */
const openUntil = async (page: string, text: RegExp): Promise<string> => {
  for (;;) {
    const answer = await p.open(page);
    assert.is(answer.status, 200, answer.text.slice(0, 300));
    if (text.test(answer.text)) return answer.text;
  }
};

const sendOn = (secret: string, n: number) => deliver(p, integration, 'push', { n }, { signature: sign(JSON.stringify({ n }), secret) });

/**
 * Returns the attributes of the button that opens the confirmation dialog of an operation, or 'none' if there is no
 * such button.
 */
const buttonOf = (html: string, operation: string): string =>
  new RegExp(`<button type="button"([^>]*) popovertarget="confirm-${operation}-[^"]*"`).exec(html)?.[1] ?? 'none';

test('the list of integrations shows names as plain text, and the deliveries of the last day', async () => {
  await deliver(p, integration, 'push', { zen: 'Keep it logically awesome.' });
  const html = await openUntil(`${p.base}/integrations`, /Last delivery[\s\S]*relative-time/);
  assert.match(html, /annals\/&lt;b&gt;core&lt;\/b&gt;/);
  assert.match(html, new RegExp(`data-kind="integration" data-id="${integration}"`));
});

test('the page of an integration shows its address with a copy button and the set-up steps of the provider, but no secret', async () => {
  const { text } = await p.open(path);
  assert.match(text, new RegExp(`data-text="http://annals.test/hooks/inbound/${integration}"`));
  assert.match(text, /Paste the address as Payload URL/);
  assert.match(text, /It was never replaced/);
  assert.is(buttonOf(text, 'dropPreviousWebhookSecret'), 'none');
});

test('after a secret rotation, the page shows how many deliveries used each secret; dropping the old one is the main button only once it is unused', async () => {
  const rotated = await p.send('POST', `${p.tenant}/webhook-integrations/${integration}/rotate-secret`, { body: { secret: NEW_SECRET } });
  assert.is(rotated.status, 200, rotated.text);
  const unused = await openUntil(path, /The old secret was not used since the rotation/);
  assert.match(buttonOf(unused, 'dropPreviousWebhookSecret'), /class="primary"/);
  assert.match(unused, /<strong>0 deliveries<\/strong> since the rotation on the new one/);
  await sendOn(NEW_SECRET, 1);
  await sendOn(NEW_SECRET, 2);
  await openUntil(path, /<strong>2 deliveries<\/strong> since the rotation on the new one/);
  await deliver(p, integration, 'push', { n: 3 });
  const used = await openUntil(path, /The old secret was last used [\s\S]*: 1 delivery since the rotation/);
  assert.match(buttonOf(used, 'dropPreviousWebhookSecret'), /class="danger"/);
});

test('the old secret can be dropped on the page of its integration, which then no longer shows how often that secret is used', async () => {
  const fields = { ':tenant_id': p.tenant_id, ':id': integration, _key: crypto.randomUUID(), _return: path };
  const dropped = await p.submit('/console/run/dropPreviousWebhookSecret', fields, OWN_PAGE);
  assert.is(dropped.status, 303, dropped.text.slice(0, 300));
  assert.is(p.eventsOf('IntegrationPreviousSecretDropped').length, 1);
  await openUntil(path, /It was replaced (?![\s\S]*data-evidence)/);
});

test('for a member without the permission, the page of an integration looks like an unknown page; an AUDITOR sees it without forms', async () => {
  const member = await p.signIn((await addMember(p, 'MEMBER')).key);
  assert.is((await p.open(path, member)).status, 404);
  assert.is((await p.open(`${p.base}/integrations`, member)).status, 404);
  const auditor = await p.signIn((await addMember(p, 'AUDITOR', p.tenant_id, 'auditor@example.com')).key);
  const seen = await p.open(path, auditor);
  if (seen.status === 200) assert.not.match(seen.text, /\/console\/run\//);
});

test('for a tenant without integrations, the page explains what an integration is and names the next step', async () => {
  const empty = await startConsole();
  const { text } = await empty.open(`${empty.base}/integrations`);
  assert.match(text, /data-empty/);
  assert.match(text, /\/console\/run\/connectWebhookIntegration/);
  await empty.close();
});

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const PUBLIC_KEY = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url').toString('hex');
const hasButton = (html: string): boolean => html.includes('data-form="sendTestDelivery"');

test('the button for a test delivery is shown on the page of an integration if and only if the API can sign one', async () => {
  const kinds: readonly (readonly [string, object, number])[] = [
    ['Github', { provider: 'github' }, 202],
    ['Custom', { provider: 'custom_hmac' }, 202],
    ['Custom key', { provider: 'custom_hmac', secret: PUBLIC_KEY, options: { algorithm: 'ed25519' } }, 409],
    ['Discord', { provider: 'discord', secret: PUBLIC_KEY }, 409],
  ];
  for (const [label, fields, status] of kinds) {
    const made = await p.send('POST', `${p.tenant}/webhook-integrations`, { body: { agent_id: agent, label, ...fields } });
    assert.is(made.status, 201, made.text);
    const { id } = made.body as { id: string };
    await p.waitForProjections();
    const isShown = hasButton((await p.open(`${p.base}/integrations/${id}`)).text);
    const sent = await p.send('POST', `${p.tenant}/webhook-integrations/${id}/test-delivery`, { body: {} });
    assert.equal([sent.status, isShown], [status, status === 202], label);
  }
});

test('the first steps offer a test delivery only if the API can sign one; else they say that the sender must send one', async () => {
  const startOf = async (label: string, fields: object, headersOf: (raw: string) => Record<string, string>): Promise<string> => {
    const owner = await createAgent(p, label);
    const body = { provider: 'custom_hmac', agent_id: owner, label, ...fields };
    const made = await p.send('POST', `${p.tenant}/webhook-integrations`, { body });
    const { id } = made.body as { id: string };
    const raw = JSON.stringify({ label });
    const sent = await p.send('POST', `/hooks/inbound/${id}`, { raw, key: '', headers: headersOf(raw) });
    assert.is(sent.status, 202, sent.text);
    await p.waitForProjections();
    return (await p.open(`${p.base}/start?agent_id=${owner}`)).text;
  };
  const signed = await startOf('Signer', { secret: PUBLIC_KEY, options: { algorithm: 'ed25519' } }, (raw) => ({
    'x-signature': cryptoSign(null, Buffer.from(raw), privateKey).toString('hex'),
  }));
  assert.equal([hasButton(signed), /Only the sender can sign/.test(signed)], [false, true]);
  const custom = await startOf('Sender', { secret: NEW_SECRET }, (raw) => ({
    'x-signature': sign(raw, NEW_SECRET).replace('sha256=', ''),
  }));
  assert.equal([hasButton(custom), /Only the sender can sign/.test(custom)], [true, false]);
});

test.after(() => p.close());
test.run();
