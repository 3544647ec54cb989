import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { renewOrRevoke } from '../../commands/credentials/renew-tokens.reactor.ts';
import { secret } from '../../domain/secret.ts';
import { renewals } from '../../infra/oauth/renew-tokens.ts';
import { contextOf } from '../../infra/reactors/timed.ts';
import { startOAuthPlatform } from '../fixtures/oauth-platform.ts';

type Json = Record<string, unknown>;

const { p, server, other, logged, oauthOf, created, createAgent, connect, close } = await startOAuthPlatform();

const oauth = oauthOf({ publicUrl: 'http://annals.test', now: () => p.clock.now() });
const { open, seal } = p.vault;
const ctx = { ...contextOf(renewals, { log: p.log, now: () => p.clock.now() }, '').inTenant(p.tenant_id), secrets: { open, seal } };
const handle = (id: unknown) => renewOrRevoke(ctx, oauth, id as string, new Date(p.clock.now()).toISOString());

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

test('an account of the tenant that was given to an agent is in its runtime, with a token that is renewed in time', async () => {
  const { path } = await createAgent();
  const runner = (await created(`${path}/runner-keys`, { name: 'runner' })).key as string;
  const runtime = async () => ((await p.send('GET', `${path}/runtime`, { key: runner })).body as { credentials: Json[] }).credentials;
  const [{ identity: own }, { identity }] = [await connect(path), await connect(p.tenant)];
  assert.is((await p.send('PUT', `${path}/credentials/${identity.id}`)).status, 200);
  const before = await runtime();
  assert.equal(
    before.map(({ identity_id, owner, provider, label, scopes, url }) => [identity_id, owner, provider, label, scopes, url]),
    [
      [own.id, 'agent', 'github', 'GitHub', own.scopes, null],
      [identity.id, 'tenant', 'github', 'GitHub', identity.scopes, null],
    ],
  );
  assert.not.equal(before[0]!.secret, before[1]!.secret);
  const later = Date.now() + 3_100_000;
  p.clock.now = () => later;
  await handle(identity.id);
  const [renewed] = (await runtime()).filter(({ identity_id }) => identity_id === identity.id);
  p.clock.now = () => Date.parse(renewed!.expires_at as string);
  const afterExpiry = await runtime();
  p.clock.now = Date.now;
  assert.ok((renewed!.expires_at as string) > (before[1]!.expires_at as string));
  assert.not.equal(renewed!.secret, before[1]!.secret);
  assert.equal(afterExpiry, [], 'expired tokens are left out');
});

test('a linked identity of an agent cannot be given to that agent or to another one', async () => {
  const { path } = await createAgent();
  const { path: other } = await createAgent();
  const { identity } = await connect(path, 'google');
  for (const agent of [path, other])
    for (const method of ['PUT', 'DELETE']) {
      const { status, body } = await p.send(method, `${agent}/credentials/${identity.id}`);
      const { code, errors } = body as { code: string; errors: Json[] };
      assert.equal([status, code, errors[0]!.code], [409, 'conflict', 'identity_of_agent']);
    }
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

const JSON_TYPE = { 'content-type': 'application/json' };
const error = (status: number, code: string, headers = {}): [number, object, string] => [
  status,
  { ...JSON_TYPE, ...headers },
  JSON.stringify({ error: code }),
];
const page = (status: number): [number, object, string] => [status, { 'content-type': 'text/html' }, '<h1>Blocked</h1>'];

/** Answers of a token endpoint after which an account must stay connected, and what its owner must read. */
const TEMPORARY: Readonly<Record<string, [answer: [number, object, string], reason: RegExp]>> = {
  // RFC 6749, 5.2
  'invalid_client, after its secret was replaced': [error(401, 'invalid_client'), /401 invalid_client .*check OAUTH_GITLAB_CLIENT_ID and/],
  'invalid_client with a challenge': [
    error(401, 'invalid_client', { 'www-authenticate': 'Basic realm="x"' }),
    /401 invalid_client .*check OAUTH/,
  ],
  'invalid_client with status 400': [error(400, 'invalid_client'), /400 invalid_client .*check OAUTH/],
  invalid_request: [error(400, 'invalid_request'), /answered 400 invalid_request$/],
  unauthorized_client: [error(403, 'unauthorized_client'), /403 unauthorized_client .*check OAUTH/],
  unsupported_grant_type: [error(400, 'unsupported_grant_type'), /check OAUTH/],
  invalid_scope: [error(400, 'invalid_scope'), /check OAUTH/],
  'a code that is no code': [error(400, 'x'.repeat(80)), /answered 400 an unknown error$/],
  // GitHub and Slack report errors with status 200.
  incorrect_client_credentials: [error(200, 'incorrect_client_credentials'), /check OAUTH/],
  ratelimited: [error(200, 'ratelimited'), /ratelimited$/],
  // What proxies and firewalls answer.
  'a page with status 403': [page(403), /answered 403$/],
  'a page with status 404': [page(404), /answered 404$/],
  'a page with status 200': [page(200), /cannot be used|answered 200/],
  'JSON without a field error': [[400, JSON_TYPE, '{"message":"no"}'], /answered 400$/],
  'no body': [[400, {}, ''], /answered 400$/],
  'a redirect': [[302, { location: 'https://elsewhere.example/' }, ''], /302|cannot be used|redirect/i],
  'too many requests': [error(429, 'slow_down'), /does not answer/],
  'an error of the server': [error(500, 'invalid_grant'), /does not answer/],
};

test('only errors about an account end its connection; after all others, the tokens stay, and the owner sees the reason', async () => {
  const { identity } = await connect(p.tenant, 'gitlab');
  const read = async () => {
    await p.waitForProjections();
    return ((await p.send('GET', `${p.tenant}/linked-identities`)).body as Json[]).find(({ id }) => id === identity.id)!;
  };
  const later = Date.now() + 3_100_000;
  p.clock.now = () => later;
  for (const [name, [[status, headers, body], reason]] of Object.entries(TEMPORARY)) {
    other.intercept((_, response) => {
      response.writeHead(status, headers as Record<string, string>).end(body);
      return true;
    });
    await handle(identity.id).then(
      () => assert.unreachable(`${name}: no error`),
      ({ code }: Json) => assert.ok(code === 'unavailable' || code === 'bad_gateway', `${name}: ${code}`),
    );
    const { connected, error: shown } = await read();
    assert.is(connected, true, name);
    assert.match(shown as string, reason, name);
  }
  const failures = p.eventsOf('IdentityRefreshFailed').length;
  await handle(identity.id).catch(() => undefined);
  assert.is(p.eventsOf('IdentityRefreshFailed').length, failures, 'the same reason is recorded once');
  other.intercept();
  await handle(identity.id);
  assert.equal([(await read()).connected, (await read()).error], [true, null]);
  p.clock.now = Date.now;
});

const tokens = (more: object, headers = {}): [number, object, string] => [
  200,
  { ...JSON_TYPE, ...headers },
  JSON.stringify({ access_token: 'a new token', token_type: 'bearer', refresh_token: 'the next one', expires_in: 3_600, ...more }),
];

/** Answers with tokens. The old refresh token may be gone, so all of them must be taken. */
const TAKEN: Readonly<Record<string, [number, object, string]>> = {
  'all members (RFC 6749, 5.1)': tokens({ scope: 'api read_user' }),
  'members that are null': tokens({ scope: null, id_token: null, error: null }),
  'no new refresh token (RFC 6749, 6)': tokens({ refresh_token: null }),
  'an empty refresh token': tokens({ refresh_token: '' }),
  'scopes in a list': tokens({ scope: ['api', 'read_user'] }),
  'scopes with commas (GitHub, Linear)': tokens({ scope: 'api,read_user' }),
  'a lifetime that is a text': tokens({ expires_in: '3600' }),
  'a lifetime that is not a number': tokens({ expires_in: 'never' }),
  'a lifetime below 0': tokens({ expires_in: -1 }),
  ...Object.fromEntries(
    [false, true, 0, 7, {}, [], [{}]].flatMap((value) =>
      ['refresh_token', 'scope', 'id_token', 'expires_in', 'token_type'].map((member) => [
        `${member} is ${JSON.stringify(value)}`,
        tokens({ [member]: value }),
      ]),
    ),
  ),
  'no type of token': tokens({ token_type: null }),
  'a type of Slack': tokens({ token_type: 'bot', ok: true }),
  'a type in capitals (RFC 6749, 5.1)': tokens({ token_type: 'BEARER' }),
  'status 201': [201, ...tokens({}).slice(1)] as [number, object, string],
  'the content type of a page': tokens({}, { 'content-type': 'text/html' }),
  'a byte order mark (RFC 8259, 8.1)': [200, JSON_TYPE, `\ufeff${tokens({})[2]}`],
  'a form (GitHub, without Accept)': [
    200,
    { 'content-type': 'application/x-www-form-urlencoded' },
    'access_token=a&expires_in=3600&refresh_token=b&scope=&token_type=bearer',
  ],
};

test('a token response is accepted, whatever is missing or unusual in its other fields', async () => {
  for (const [name, [status, headers, body]] of Object.entries(TAKEN)) {
    other.intercept((_, response) => {
      response.writeHead(status, headers as Record<string, string>).end(body);
      return true;
    });
    const taken = await oauth.refresh('gitlab', secret('the old one')).catch(({ message }: Error) => message);
    assert.ok(typeof taken === 'object' && 'access_token' in taken && taken.refresh_token !== null, `${name}: ${String(taken)}`);
  }
  other.intercept();
});

for (const [code, type] of [
  ...['invalid_grant', 'bad_refresh_token', 'invalid_refresh_token', 'interaction_required'].map(
    (one) => [one, 'application/json'] as const,
  ),
  ['invalid_grant', 'text/html'],
] as const)
  test(`after ${code} as ${type}, a person must connect the account again, and sees the reason`, async () => {
    const { identity } = await connect(p.tenant, 'gitlab');
    const later = Date.now() + 3_100_000;
    p.clock.now = () => later;
    other.intercept((_, response) => {
      response.writeHead(400, { 'content-type': type }).end(JSON.stringify({ error: code }));
      return true;
    });
    await handle(identity.id);
    other.intercept();
    p.clock.now = Date.now;
    await p.waitForProjections();
    const listed = (await p.send('GET', `${p.tenant}/linked-identities`)).body as Json[];
    const found = listed.find(({ id }) => id === identity.id)!;
    assert.equal([found.connected, found.error], [false, code]);
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
