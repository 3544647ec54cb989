import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkOAuth } from '../../infra/cli/doctor/oauth-check.ts';
import { checkSignIn } from '../../infra/health/sign-in-check.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { OAUTH_CLIENT, startOAuthServer } from '../fixtures/oauth-server.ts';

const server = await startOAuthServer();
const providers = { test: server.provider, basic: { ...server.provider, label: 'Basic', usesBasic: true } };
const config = { oauth: { test: OAUTH_CLIENT }, publicUrl: 'http://annals.test', egressAllow: [server.host] };

/** Starts a local OAuth provider that answers every request with this status, these headers and this JSON. */
const startProvider = async (status: number, body: object, headers: Record<string, string> = {}) => {
  const other = createServer((_, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body)),
  );
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  const check = () =>
    checkOAuth({ ...config, egressAllow: [host] }, { test: { ...server.provider, tokenUrl: `http://${host}/token` } }).finally(() =>
      other.close(),
    );
  return { check };
};

test('without an OAuth client, doctor sends no request to a provider', async () =>
  assert.is((await checkOAuth({ ...config, oauth: {} }, providers)).level, 'none'));

test('if the provider accepts the OAuth client and its secret, the check of the client passes after a single request', async () => {
  const before = server.requests.length;
  assert.equal(await checkOAuth(config, providers), { level: 'ok', message: 'Test: the client is accepted', advice: null });
  assert.is(server.requests.length, before + 1);
});

test('if the secret of an OAuth client is wrong, the check of the client fails and names the variables, but does not print the secret', async () => {
  const wrong = { clientId: OAUTH_CLIENT.clientId, clientSecret: 'a wrong secret' };
  const found = await checkOAuth({ ...config, oauth: { test: wrong } }, providers);
  assert.equal(
    [found.level, found.message, found.advice],
    ['fail', 'Test refuses the client: invalid_client', 'correct OAUTH_TEST_CLIENT_ID and OAUTH_TEST_CLIENT_SECRET'],
  );
});

test('if the provider refuses an OAuth client with an HTTP Basic challenge, the check of the client fails, too', async () => {
  const { check } = await startProvider(401, { error: 'invalid_client' }, { 'www-authenticate': 'Basic realm="test"' });
  assert.is((await check()).level, 'fail');
});

test('the check of an OAuth client fails if GitHub rejects the client in a response with status 200; it passes if GitHub only says that the token is unknown', async () => {
  assert.is((await (await startProvider(200, { error: 'incorrect_client_credentials' })).check()).level, 'fail');
  assert.is((await (await startProvider(200, { error: 'bad_refresh_token' })).check()).level, 'ok');
});

test('if the provider does not answer, or answers with 503, the check of the OAuth client fails', async () => {
  const { level, message, advice } = await checkOAuth(config, { test: { ...server.provider, tokenUrl: 'http://127.0.0.1:1/token' } });
  assert.equal([level, message, advice], ['fail', 'Test does not answer', 'allow connections to 127.0.0.1:1']);
  assert.is((await (await startProvider(503, {})).check()).message, 'Test does not answer');
});

test('the check of OAuth clients warns about a client for a provider that the platform does not know', async () => {
  const { level, advice } = await checkOAuth({ ...config, oauth: { ...config.oauth, facebook: OAUTH_CLIENT } }, providers);
  assert.is(level, 'warn');
  assert.match(advice!, 'test, basic');
});

test('the check of the OpenID issuer passes if the issuer answers, fails if it does not, and is skipped if none is configured', async () => {
  const issuer = { oidcAudience: 'annals', oidcClientId: undefined, oidcClientSecret: undefined };
  assert.is((await checkSignIn({ ...issuer, oidcIssuer: undefined })).level, 'none');
  assert.is((await checkSignIn({ ...issuer, oidcIssuer: server.url })).level, 'ok');
  const { level, advice } = await checkSignIn({ ...issuer, oidcIssuer: 'http://127.0.0.1:1' });
  assert.is(level, 'fail');
  assert.match(advice!, 'OIDC_ISSUER');
});

afterLastTest(() => server.close());

test.run();
