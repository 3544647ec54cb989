import { createHmac } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Provider } from '../../domain/integrations/provider.ts';
import { SIGNERS } from '../fixtures/provider-signatures.ts';
import { createWebhookPlatform } from '../fixtures/webhook-platform.ts';

const given = await createWebhookPlatform();
const connectedTo = async (provider: Provider): Promise<string> =>
  (await given.connect({ provider, secret: SIGNERS[provider].secret, label: provider })).json.id as string;
const [slack, bitbucket, zoom, discord, intercom] = await Promise.all(
  (['slack', 'bitbucket', 'zoom', 'discord', 'intercom'] as const).map(connectedTo),
);

const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';
type Headers = Readonly<Record<string, string>>;

const post = (hook: string | undefined, body: string, headers: Headers = {}) =>
  given.request(`/hooks/inbound/${hook}`, { method: 'POST', headers: { 'content-type': FORM, ...headers }, body });

const signed = (provider: Provider, hook: string | undefined, body: string, headers: Headers = {}) => {
  const url = `https://annals.test/hooks/inbound/${hook}`;
  const signature = SIGNERS[provider].headersOf({ body, url, id: 'p-1', seconds: Math.floor(Date.now() / 1000) });
  return post(hook, body, { 'content-type': JSON_TYPE, ...headers, ...signature });
};

/** How many events the log has, except those of integrations. A rejection is appended a little later. */
const recorded = (): number => given.ofType('WebhookAccepted', 'WebhookBlocked', 'WebhookRejected').length;

const PING = { 'content-type': 'application/json; charset=UTF-8', 'x-event-key': 'diagnostics:ping', 'x-request-id': 'r-1' };

test('unsigned checks of the address by Slack and Bitbucket get 200 without a body, and nothing is recorded', async () => {
  const before = recorded();
  for (const body of ['ssl_check=1&token=x', 'token=abc&ssl_check=1', 'ssl_check=1', 'ssl_check=1&token='])
    for (const type of [FORM, `${FORM}; charset=utf-8`]) {
      const answer = await post(slack, body, { 'content-type': type });
      assert.equal([answer.status, answer.text, answer.headers.get('content-type')], [200, '', null], body);
    }
  for (const body of ['{"test":true}', ' { "test" : true }\n', '{}']) {
    const answer = await post(bitbucket, body, PING);
    assert.equal([answer.status, answer.text], [200, ''], body);
  }
  assert.is((await signed('slack', slack, 'ssl_check=1&token=x', { 'content-type': FORM })).status, 200);
  await given.waitForProjections();
  assert.is(recorded(), before);
});

test('an unsigned request with other content does not count as a check of the address', async () => {
  for (const [hook, body, headers] of [
    [slack, 'ssl_check=1&token=x&payload=%7B%22type%22%3A%22block_actions%22%7D', {}],
    [slack, 'ssl_check=1&token=x&command=%2Fdeploy', {}],
    [slack, 'ssl_check=1&token=x&text=hi', {}],
    [slack, 'ssl_check=1&token=x&', { 'content-type': 'text/plain' }],
    [slack, 'ssl_check=1&ssl_check=2', {}],
    [slack, 'ssl_check=1&token=x&token=y', {}],
    [slack, 'ssl_check=0&token=x', {}],
    [slack, 'ssl_check=true&token=x', {}],
    [slack, 'ssl_check[]=1&token=x', {}],
    [slack, 'token=x', {}],
    [slack, '', {}],
    [slack, '{"ssl_check":1,"token":"x"}', { 'content-type': JSON_TYPE }],
    [slack, `ssl_check=1&token=${'x'.repeat(600)}`, {}],
    [slack, 'ssl_check=1&token=x', { 'x-slack-signature': `v0=${'0'.repeat(64)}`, 'x-slack-request-timestamp': '1' }],
    [bitbucket, '{"test":true,"push":{}}', PING],
    [bitbucket, '{"test":false}', PING],
    [bitbucket, '{"test":true}', { ...PING, 'x-event-key': 'repo:refs_changed' }],
    [bitbucket, '{"test":true}', { ...PING, 'x-hub-signature': `sha256=${'0'.repeat(64)}` }],
    [zoom, 'ssl_check=1&token=x', {}],
    [given.hook, 'ssl_check=1&token=x', {}],
    [given.hook, '{"test":true}', PING],
  ] as const) {
    const { status } = await post(hook, body, headers);
    assert.is(status, 401, `${hook} ${body.slice(0, 80)}`);
  }
});

test('a signed check of the address that carries content is a delivery, so that the content is not lost', async () => {
  const challenge = { type: 'url_verification', token: 't', challenge: 'c' };
  const validation = { event: 'endpoint.url_validation', event_ts: 1, payload: { plainToken: 'p' } };
  for (const [provider, hook, document] of [
    ['slack', slack, { ...challenge, event: { text: 'hello' } }],
    ['slack', slack, { ...challenge, event_id: 'Ev1' }],
    ['slack', slack, { ...challenge, text: 'hello' }],
    ['zoom', zoom, { ...validation, object: {} }],
    ['zoom', zoom, { ...validation, payload: { plainToken: 'p', object: { id: 1 } } }],
    ['discord', discord, { type: 1, id: '77', application_id: '1', event: { type: 'ENTITLEMENT_CREATE' } }],
    ['discord', discord, { type: 0, application_id: '1', data: {} }],
  ] as const) {
    const before = given.accepted().length;
    const answer = await signed(provider, hook, JSON.stringify(document));
    assert.is(answer.json.challenge ?? answer.json.plainToken ?? answer.json.type, undefined, JSON.stringify(document));
    assert.is(given.accepted().length, before + 1, JSON.stringify(document));
  }
  const before = given.accepted().length;
  assert.is((await signed('slack', slack, 'ssl_check=1&token=x&command=%2Fdeploy', { 'content-type': FORM })).status, 200);
  assert.is((await signed('bitbucket', bitbucket, '{"test":true}', PING)).status, 202);
  assert.is(given.accepted().length, before + 2);
});

test('a paused integration answers all checks of its address, and a disconnected one is an unknown address', async () => {
  const hook = await connectedTo('slack');
  const path = `webhook-integrations/${hook}`;
  await given.call('PATCH', path, { is_paused: true });
  const challenge = JSON.stringify({ type: 'url_verification', token: 't', challenge: 'c' });
  assert.is((await post(hook, 'ssl_check=1&token=x')).status, 200);
  assert.equal((await signed('slack', hook, challenge)).json, { challenge: 'c' });
  await given.call('DELETE', path);
  assert.is((await post(hook, 'ssl_check=1&token=x')).status, 404);
  assert.is((await signed('slack', hook, challenge)).status, 404);
  assert.is((await given.request(`/hooks/inbound/${hook}`, { method: 'HEAD' })).status, 404);
});

test('HEAD is answered for every integration, GET only for the check by Slack, and both are recorded nowhere', async () => {
  const before = recorded();
  const ask = (method: string, hook: string | undefined, query = '') => given.request(`/hooks/inbound/${hook}${query}`, { method });
  for (const hook of [intercom, slack, given.hook]) assert.is((await ask('HEAD', hook)).status, 200);
  for (const hook of [`c${'0'.repeat(24)}`, 'x']) assert.is((await ask('HEAD', hook)).status, 404);
  assert.equal(
    [(await ask('GET', slack, '?ssl_check=1&token=x')).status, (await ask('GET', slack, '?token=x&ssl_check=1')).text],
    [200, ''],
  );
  for (const [hook, query] of [
    [slack, ''],
    [slack, '?ssl_check=1&token=x&payload=%7B%7D'],
    [slack, '?ssl_check=0'],
    [intercom, '?ssl_check=1&token=x'],
    [given.hook, '?Body=Hi&MessageSid=SM1'],
  ] as const) {
    const answer = await ask('GET', hook, query);
    assert.equal([answer.status, answer.headers.get('allow')], [405, 'HEAD, POST, OPTIONS'], query);
    assert.match(answer.json.detail as string, /with POST/);
  }
  assert.is((await ask('OPTIONS', given.hook)).status, 204);
  assert.is(recorded(), before);
});

test('the answer to the check by Zoom is made with the secret that signed the check, also during a rotation', async () => {
  const hook = await connectedTo('zoom');
  const fresh = 'another secret of more than 24 bytes';
  assert.is((await given.call('POST', `webhook-integrations/${hook}/rotate-secret`, { secret: fresh })).status, 200);
  const answer = await signed('zoom', hook, '{"event":"endpoint.url_validation","event_ts":1,"payload":{"plainToken":"p"}}');
  assert.is(answer.json.encryptedToken, createHmac('sha256', SIGNERS.zoom.secret).update('p').digest('hex'));
});

test.run();
