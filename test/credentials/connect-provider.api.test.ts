import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startOAuthPlatform } from '../fixtures/oauth-platform.ts';
import { signInAtIssuer } from '../fixtures/oidc-issuer.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const { p, other, logged, created, createAgent, start, callback, connect, close } = await startOAuthPlatform();
const codeOf = ({ body }: Answer) => (body as Json).code;

const unchanged = async (name: string, attack: () => Promise<Answer>, statuses: readonly number[]): Promise<void> => {
  const before = p.eventsOf('IdentityLinked').length;
  const answer = await attack();
  assert.ok(statuses.includes(answer.status), `${name}: ${answer.status} ${answer.text}`);
  assert.is(p.eventsOf('IdentityLinked').length, before, name);
};

test('connecting an account at a provider uses PKCE and the exact redirect URL; the list of identities then shows the account without its token', async () => {
  const { url, cookie, answer } = await start();
  const query = new URL(url).searchParams;
  assert.equal([query.get('code_challenge_method'), query.get('redirect_uri')], ['S256', 'http://annals.test/integrations/callback']);
  assert.match(answer.headers.get('set-cookie')!, /^annals_link_\w{9}=\w{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/);
  const connected = await callback(await signInAtIssuer(url, 'octocat'), cookie);
  assert.is(connected.status, 200, connected.text);
  const { id, created_at, updated_at, expires_at, ...rest } = (connected.body as { linked_identity: Json }).linked_identity;
  assert.equal(rest, {
    provider: 'github',
    label: 'GitHub',
    agent_id: null,
    connected: true,
    scopes: ['openid', 'offline_access', 'repo'],
    error: null,
  });
  assert.ok(Date.parse(expires_at as string) > Date.parse(created_at as string) + 3_500_000);
  assert.is(created_at, updated_at);
  await p.waitForProjections();
  const listed = (await p.send('GET', `${p.tenant}/linked-identities`)).body as Json[];
  assert.ok(listed.some((one) => one.id === id));
});

test('connecting to an unknown provider gets 404; connecting to a provider without an OAuth client gets 409 not_configured with the name of the missing variable', async () => {
  assert.is((await p.send('POST', `${p.tenant}/integrations/nosuch/connect`)).status, 404);
  const answer = await p.send('POST', `${p.tenant}/integrations/linear/connect`);
  assert.equal([answer.status, codeOf(answer)], [409, 'not_configured']);
  assert.match((answer.body as Json).detail as string, /OAUTH_LINEAR_CLIENT_ID/);
});

test('each of 12 attacks on the OAuth callback is refused, and none of them links an account', async () => {
  const done = await connect();
  await unchanged('a state that was used before', () => callback(done.location, done.cookie), [401]);
  const fresh = async () => {
    const { url, cookie } = await start();
    return { url, cookie, location: await signInAtIssuer(url, 'octocat') };
  };
  const one = await fresh();
  const two = await fresh();
  await unchanged("another browser's state", () => callback(one.location, two.cookie), [401]);
  await unchanged('a browser without the cookie', () => callback(one.location, ''), [401]);
  const changed = (location: string, change: (query: URLSearchParams) => void): string => {
    const url = new URL(location);
    change(url.searchParams);
    return url.href;
  };
  await unchanged(
    'a state that was made up',
    () =>
      callback(
        changed(one.location, (query) => query.set('state', 'made up')),
        one.cookie,
      ),
    [401],
  );
  await unchanged(
    'no state',
    () =>
      callback(
        changed(one.location, (query) => query.delete('state')),
        one.cookie,
      ),
    [401],
  );
  const ofTwo = new URL(two.location).searchParams.get('code')!;
  await unchanged(
    'the code of another attempt',
    () =>
      callback(
        changed(one.location, (query) => query.set('code', ofTwo)),
        one.cookie,
      ),
    [401],
  );
  await unchanged('the state after a failed attempt', () => callback(one.location, one.cookie), [401]);
  await unchanged(
    'the issuer of another provider',
    () =>
      callback(
        changed(two.location, (query) => query.set('iss', other.url)),
        two.cookie,
      ),
    [401],
  );
  const three = await fresh();
  await unchanged(
    'no issuer',
    () =>
      callback(
        changed(three.location, (query) => query.delete('iss')),
        three.cookie,
      ),
    [401],
  );
  const four = await fresh();
  const error = changed(four.location, (query) => {
    query.delete('code');
    query.set('error', 'access_denied');
  });
  await unchanged('an error of the provider', () => callback(error, four.cookie), [403]);
  const five = await fresh();
  const now = Date.now() + 601_000;
  p.clock.now = () => now;
  await unchanged('an expired state', () => callback(five.location, five.cookie), [401]);
  p.clock.now = Date.now;
  const six = await start();
  const elsewhere = changed(six.url, (query) => query.set('redirect_uri', 'https://attacker.test/integrations/callback'));
  const refused = await fetch(elsewhere, { redirect: 'manual' });
  assert.is(refused.status, 400, 'an altered redirect');
  const withoutPkce = await fetch(
    changed(six.url, (query) => {
      query.delete('code_challenge');
      query.delete('code_challenge_method');
    }),
    { redirect: 'manual' },
  );
  assert.match(withoutPkce.headers.get('location') ?? '', /error=invalid_request/, 'no PKCE');
});

test('an authorization code that an attacker injects into another connection attempt is refused by the provider, because the PKCE challenge does not match', async () => {
  const victim = await start();
  const attacker = await start();
  const stolen = new URL(await signInAtIssuer(attacker.url, 'attacker')).searchParams.get('code')!;
  const own = new URL(await signInAtIssuer(victim.url, 'octocat'));
  own.searchParams.set('code', stolen);
  await unchanged('an injected code', () => callback(own.href, victim.cookie), [401]);
  assert.match(logged.join(''), /an account could not be connected/);
});

test('if the callback of a connection attempt is called twice at the same time, the account is linked once', async () => {
  const { url, cookie } = await start();
  const location = await signInAtIssuer(url, 'octocat');
  const before = p.eventsOf('IdentityLinked').length;
  const answers = await Promise.all([callback(location, cookie), callback(location, cookie), callback(location, cookie)]);
  assert.equal(answers.map(({ status }) => status).sort(), [200, 401, 401]);
  assert.is(p.eventsOf('IdentityLinked').length, before + 1);
});

test('if the user loses the permission, or is removed, between the start of connecting and the callback, the account is not linked', async () => {
  const { key, user_id } = await addMember(p, 'ADMIN');
  const { url, cookie } = await start(p.tenant, 'github', key);
  const location = await signInAtIssuer(url, 'octocat');
  await p.send('PATCH', `${p.tenant}/members/${user_id}`, { body: { role: 'MEMBER' } });
  await unchanged('a demoted user', () => callback(location, cookie), [403]);
  await p.send('DELETE', `${p.tenant}/members/${user_id}`);
  await unchanged('a removed user', () => callback(location, cookie), [404]);
});

test("after an account is connected for an agent, the agent's runtime contains the token, an event names the account, and there is one new webhook integration", async () => {
  const { id: agent_id, path } = await createAgent();
  const runner = (await created(`${path}/runner-keys`, { name: 'runner' })).key as string;
  const { identity } = await connect(path);
  assert.is(identity.agent_id, agent_id);
  const read = async () => (await p.send('GET', `${path}/runtime`, { key: runner })).body as { credentials: Json[] };
  const { credentials } = await read();
  assert.equal(
    credentials.map(({ provider, label }) => [provider, label]),
    [['github', 'GitHub']],
  );
  const token = credentials[0]!.secret as string;
  assert.ok(token.length > 20);
  assert.equal((p.eventsOf('RuntimeDisclosed').at(-1)!.data as Json).credentials, [
    { identity_id: identity.id, provider: 'github', label: 'GitHub' },
  ]);
  await p.waitForProjections();
  const integrations = async () => (await p.send('GET', `${p.tenant}/webhook-integrations?agent_id=${agent_id}`)).body as Json[];
  assert.equal(
    (await integrations()).map(({ provider, label }) => [provider, label]),
    [['github', 'GitHub']],
  );
  await connect(path);
  await p.waitForProjections();
  assert.is((await integrations()).length, 1);
  const listed = (await p.send('GET', `${path}/integrations`)).body as Json[];
  assert.is(listed.find(({ provider }) => provider === 'github')!.connected, true);
  assert.is(listed.find(({ provider }) => provider === 'google')!.connected, false);
  assert.equal(await (await createAgentRuntime()).credentials, []);
});

/** Creates an agent without a connected account. @returns its runtime, read with its runner key */
const createAgentRuntime = async () => {
  const { path } = await createAgent();
  const runner = (await created(`${path}/runner-keys`, { name: 'runner' })).key as string;
  return (await p.send('GET', `${path}/runtime`, { key: runner })).body as { credentials: Json[] };
};

test('connecting an account of a provider without webhooks creates no integration; the list shows the provider as connected once the account is linked', async () => {
  const { id: agent_id, path } = await createAgent();
  await connect(path, 'google');
  await p.waitForProjections();
  assert.equal((await p.send('GET', `${p.tenant}/webhook-integrations?agent_id=${agent_id}`)).body, []);
  const listed = (await p.send('GET', `${path}/integrations`)).body as Json[];
  assert.is(listed.find(({ provider }) => provider === 'google')!.connected, true);
});

test.after(close);

test.run();
