import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { renewOrRevoke } from '../../commands/credentials/renew-tokens.reactor.ts';
import { renewalPorts } from '../../infra/reactors/renew-tokens.ts';
import { startOAuthPlatform } from '../fixtures/oauth-platform.ts';

type Json = Record<string, unknown>;

const { p, server, other, logged, oauthOf, created, createAgent, connect, close } = await startOAuthPlatform();

const ports = renewalPorts(p.log, { oauth: oauthOf({ publicUrl: 'http://annals.test', now: () => p.clock.now() }), vault: p.vault }, () =>
  p.clock.now(),
);
const handle = (id: unknown) => renewOrRevoke(ports, { tenant_id: p.tenant_id, id: id as string }, new Date(p.clock.now()).toISOString());

test('an access token is renewed once, before it expires, and the runtime of the agent then contains the new token', async () => {
  const { path } = await createAgent();
  const runner = (await created(`${path}/runner-keys`, { name: 'runner' })).key as string;
  const tokenOf = async () =>
    ((await p.send('GET', `${path}/runtime`, { key: runner })).body as { credentials: Json[] }).credentials[0]?.secret;
  const { identity } = await connect(path);
  const first = await tokenOf();
  await handle(identity.id);
  assert.is(p.eventsOf('IdentityTokensRefreshed').length, 0, 'the tokens are not due yet');
  const later = Date.now() + 3_100_000;
  p.clock.now = () => later;
  await handle(identity.id);
  await handle(identity.id);
  assert.is(p.eventsOf('IdentityTokensRefreshed').length, 1);
  const deadline = Date.now() + 5_000;
  while ((await tokenOf()) === first && Date.now() < deadline) await sleep(10);
  const second = await tokenOf();
  p.clock.now = Date.now;
  assert.ok(first && second && first !== second);
});

test('while the provider is down, an identity stays connected; if the provider refuses to renew the token, a person must connect the account again', async () => {
  const { identity } = await connect(p.tenant, 'gitlab');
  const later = Date.now() + 3_100_000;
  p.clock.now = () => later;
  other.intercept((_, response) => {
    response.writeHead(503).end();
    return true;
  });
  await handle(identity.id).then(
    () => assert.unreachable(),
    (error: Json) => assert.is(error.code, 'unavailable'),
  );
  other.intercept((_, response) => {
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
    return true;
  });
  await handle(identity.id);
  other.intercept();
  p.clock.now = Date.now;
  assert.equal(p.eventsOf('IdentityRefreshRefused').at(-1)!.data, { error: 'invalid_grant' });
  await p.waitForProjections();
  const listed = (await p.send('GET', `${p.tenant}/linked-identities`)).body as Json[];
  assert.is(listed.find(({ id }) => id === identity.id)!.connected, false);
});

test('an identity that is unlinked disappears at once, and its refresh token is revoked at the provider', async () => {
  const { identity } = await connect(p.tenant, 'google');
  assert.is((await p.send('DELETE', `${p.tenant}/linked-identities/${identity.id}`)).status, 204);
  await handle(identity.id);
  const revoked = server.requests.filter(({ path }) => path === '/token/revocation');
  assert.is(revoked.length, 1);
  assert.equal(p.eventsOf('IdentityTokensRevoked').at(-1)!.data, { outcome: 'revoked' });
  await handle(identity.id);
  assert.is(server.requests.filter(({ path }) => path === '/token/revocation').length, 1);
});

test('no event, audit log entry or log line contains a token, an authorization code or a PKCE verifier', async () => {
  const secrets = [...server.requests, ...other.requests].flatMap(({ form }) =>
    ['code', 'code_verifier', 'refresh_token', 'token', 'client_secret'].flatMap((name) => form.get(name) ?? []),
  );
  assert.ok(secrets.length > 8);
  await p.waitForProjections();
  const events = JSON.stringify(p.log.events, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  const audit = (await p.send('GET', `${p.tenant}/audit-logs?limit=200`)).text;
  for (const [where, text] of Object.entries({ events, audit, log: logged.join('') }))
    assert.equal(
      secrets.filter((one) => text.includes(one)),
      [],
      where,
    );
});

test.after(close);

test.run();
