import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isRead } from '../../api/http/operation.ts';
import { RATE_LIMIT_POLICIES } from '../../domain/access/rate-limit-policy.ts';
import { createRateLimiter } from '../../infra/ratelimit/limiter.ts';
import { CLIENT, signInAtIssuer, startIssuer } from '../fixtures/oidc-issuer.ts';
import { allowAccount, type SignInPlatform, SOMEBODY, signInTest } from '../fixtures/sign-in-platform.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

const CALLBACK = 'http://annals.test/auth/callback';

const cookiePairs = (headers: Headers): string[] => headers.getSetCookie().map((cookie) => cookie.split(';')[0]!);

/** Starts a sign-in in a browser. @returns the URL to which the browser is redirected, and the cookies that it gets */
const startSignIn = async (p: SignInPlatform['p'], query = '') => {
  const answer = await p.send('GET', `/auth/login${query}`, { key: '' });
  assert.is(answer.status, 302, answer.text);
  return { location: answer.headers.get('location')!, cookie: cookiePairs(answer.headers).join('; ') };
};

const finishSignIn = (p: SignInPlatform['p'], back: string, cookie: string) =>
  p.send('GET', back.replace('http://annals.test', ''), { key: '', headers: { cookie } });

/** Signs in with a browser. @returns its session cookie */
const signIn = async (p: SignInPlatform['p'], login = 'somebody') => {
  const started = await startSignIn(p);
  const answer = await finishSignIn(p, await signInAtIssuer(started.location, login), started.cookie);
  assert.is(answer.status, 303, answer.text);
  return cookiePairs(answer.headers).find((pair) => pair.startsWith('annals_session='))!;
};

const byCookie = (
  p: SignInPlatform['p'],
  cookie: string,
  method = 'GET',
  path = '/me',
  headers: Record<string, string> = {},
  body?: unknown,
) => p.send(method, path, { key: '', headers: { cookie, ...headers }, ...(body === undefined ? {} : { body }) });

const OWN_PAGE = { origin: 'http://annals.test', 'sec-fetch-site': 'same-origin' };

signInTest(
  'a browser can sign in by the authorization code flow, read data, make a change from a page of PUBLIC_URL, and sign out',
  async (stage) => {
    const { p } = stage;
    await allowAccount(stage);
    const started = await startSignIn(p, '?return_to=/docs%23agents');
    assert.is(new URL(started.location).searchParams.get('code_challenge_method'), 'S256');
    const back = await signInAtIssuer(started.location, 'somebody');
    const answer = await finishSignIn(p, back, started.cookie);
    assert.is(answer.status, 303, answer.text);
    assert.is(answer.headers.get('location'), '/docs#agents');
    const set = answer.headers.getSetCookie().find((cookie) => cookie.startsWith('annals_session='))!;
    assert.match(set, /; HttpOnly/);
    assert.match(set, /; SameSite=Lax/);
    const cookie = set.split(';')[0]!;
    const { user } = (await byCookie(p, cookie)).body as { user: { email: string; name: string } };
    assert.equal([user.email, user.name], [SOMEBODY, 'Name of somebody']);
    assert.is(p.eventsOf('UserSeen').length, 1);
    assert.is((await byCookie(p, cookie, 'POST', '/auth/logout', OWN_PAGE)).status, 204);
    assert.is((await byCookie(p, cookie)).status, 401);
    assert.equal(
      p.eventsOf('SignedIn', 'SignedOut').map(({ type }) => type),
      ['SignedIn', 'SignedOut'],
    );
    assert.not.ok(JSON.stringify(p.log.events.map(({ data }) => data)).includes(cookie.split('.')[1]!));
  },
);

signInTest('a sign-in is refused if the issuer says that it took place in the future', async (stage) => {
  const { p } = stage;
  await allowAccount(stage);
  p.clock.now = () => Date.now() - 3_600_000;
  const started = await startSignIn(p);
  const answer = await finishSignIn(p, await signInAtIssuer(started.location, 'somebody'), started.cookie);
  assert.is(answer.status, 401, answer.text);
  assert.match(answer.text, /in the future/);
});

signInTest('a session cookie is valid for twelve hours, and is refused if it was altered', async (stage) => {
  const { p } = stage;
  await allowAccount(stage);
  const cookie = await signIn(p);
  for (const other of [
    `${cookie}x`,
    cookie.slice(0, -1),
    cookie.split('.')[0]!,
    'annals_session=',
    'annals_session=c.d',
    'annals_session=%00',
  ])
    assert.is((await byCookie(p, other)).status, 401, other);
  const startedAt = Date.now();
  p.clock.now = () => startedAt + 12 * 3_600_000 - 5_000;
  assert.is((await byCookie(p, cookie)).status, 200);
  p.clock.now = () => startedAt + 12 * 3_600_000 + 5_000;
  assert.is((await byCookie(p, cookie)).status, 401);
});

signInTest(
  'a sign-in callback is refused if it is repeated, late, incomplete, mixed with another sign-in, or from another issuer',
  async (stage) => {
    const { p, issuer } = stage;
    await allowAccount(stage);
    await allowAccount(stage, 'victim@example.com');
    const assertRefused = async (what: string, status: number, back: string, cookie: string) => {
      const answer = await finishSignIn(p, back, cookie);
      assert.is(answer.status, status, `${what}: ${answer.text}`);
      assert.not.ok(
        answer.headers.getSetCookie().some((one) => /^annals_session=[^;]/.test(one)),
        what,
      );
    };
    const newSignIn = async (login = 'somebody') => {
      const started = await startSignIn(p);
      return { ...started, back: await signInAtIssuer(started.location, login) };
    };
    const changed = (back: string, change: (query: URLSearchParams) => void): string => {
      const url = new URL(back);
      change(url.searchParams);
      return url.href;
    };

    const used = await newSignIn();
    assert.is((await finishSignIn(p, used.back, used.cookie)).status, 303);
    await assertRefused('replayed', 401, used.back, used.cookie);

    const [mine, theirs] = [await newSignIn('victim'), await newSignIn()];
    await assertRefused("another browser's cookie", 401, mine.back, theirs.cookie);
    const withOtherCode = changed(mine.back, (query) => query.set('code', new URL(theirs.back).searchParams.get('code')!));
    await assertRefused("another sign-in's code", 401, withOtherCode, mine.cookie);
    const own = await newSignIn();
    await assertRefused(
      "another sign-in's state",
      401,
      changed(own.back, (query) => query.set('state', new URL(mine.back).searchParams.get('state')!)),
      own.cookie,
    );
    const renamed = await newSignIn();
    const [name] = renamed.cookie.split('=');
    await assertRefused('a cookie under another name', 401, renamed.back, `${name}=${theirs.cookie.split('=')[1]}`);
    const stateless = await newSignIn();
    await assertRefused(
      'no state',
      401,
      changed(stateless.back, (query) => query.delete('state')),
      stateless.cookie,
    );
    const bare = await newSignIn();
    await assertRefused('no cookie, so no verifier', 401, bare.back, '');
    const altered = await newSignIn();
    await assertRefused('an altered cookie', 401, altered.back, `${altered.cookie.slice(0, -3)}abc`);
    const codeless = await newSignIn();
    await assertRefused(
      'no code',
      401,
      changed(codeless.back, (query) => query.delete('code')),
      codeless.cookie,
    );
    const mixed = await newSignIn();
    await assertRefused(
      'another issuer',
      401,
      changed(mixed.back, (query) => query.set('iss', 'https://elsewhere.example')),
      mixed.cookie,
    );
    const unnamed = await newSignIn();
    await assertRefused(
      'a missing issuer',
      401,
      changed(unnamed.back, (query) => query.delete('iss')),
      unnamed.cookie,
    );
    const denied = await startSignIn(p);
    const state = new URL(denied.location).searchParams.get('state')!;
    const no = `${CALLBACK}?error=access_denied&state=${state}&iss=${encodeURIComponent(issuer.url)}`;
    await assertRefused('denied at the issuer', 403, no, denied.cookie);
    const stranger = await newSignIn('stranger');
    await assertRefused('an address that is not allowed', 403, stranger.back, stranger.cookie);
    const unverified = await newSignIn('unverified');
    await assertRefused('an unverified address', 401, unverified.back, unverified.cookie);
    const late = await newSignIn();
    const startedAt = Date.now();
    p.clock.now = () => startedAt + 11 * 60_000;
    await assertRefused('too late', 401, late.back, late.cookie);
  },
);

signInTest('a sign-in gets 422 if its parameter return_to is not a path on this host', async ({ p }) => {
  for (const to of ['https://elsewhere.example', '//elsewhere.example', '/\\elsewhere.example', 'docs', '/a\tb', '', 'javascript:alert(1)'])
    assert.is((await p.send('GET', `/auth/login?return_to=${encodeURIComponent(to)}`, { key: '' })).status, 422, to);
});

signInTest(
  'with a session cookie, a change is refused if its request comes neither from a page of PUBLIC_URL nor from one of the same origin',
  async (stage) => {
    const { p } = stage;
    await p.send('POST', `${p.tenant}/members`, { body: { email: SOMEBODY, role: 'OWNER' } });
    await p.waitForProjections();
    const cookie = await signIn(p);
    const me = (await byCookie(p, cookie)).body as { user: { id: string } };
    await p.send('PATCH', `/api/v1/admin/users/${me.user.id}`, { body: { is_super_admin: true } });
    const before = p.log.events.length;
    const foreign: Record<string, string>[] = [
      {},
      { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' },
      { origin: 'null' },
      { origin: 'http://other.annals.test', 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
      { origin: 'http://annals.test', 'sec-fetch-site': 'cross-site' },
      { referer: 'http://annals.test/docs' },
      { origin: 'http://127.0.0.1:4100', host: '127.0.0.1:4100' },
      { origin: 'https://elsewhere.example', host: '127.0.0.1:4100', 'sec-fetch-site': 'same-origin' },
    ];
    const mutations = Object.values(p.operations).filter((row) => !isRead(row));
    assert.ok(mutations.length > 40);
    for (const { method, path } of [...mutations, { method: 'post', path: '/auth/logout' }])
      for (const headers of foreign) {
        const at = path.replace(':tenant_id', p.tenant_id).replaceAll(/:\w+/g, p.tenant_id);
        const answer = await byCookie(p, cookie, method.toUpperCase(), at, headers, {});
        assert.is(answer.status, 403, `${method} ${at} ${JSON.stringify(headers)}: ${answer.text}`);
      }
    assert.is(p.log.events.length, before);
    const created = await byCookie(p, cookie, 'POST', '/admin/allowed-accounts', OWN_PAGE, { email: 'other@example.com' });
    assert.is(created.status, 201, created.text);
    const own: readonly Record<string, string>[] = [
      { origin: 'null', 'sec-fetch-site': 'same-origin' },
      { origin: 'http://127.0.0.1:4100', host: '127.0.0.1:4100', 'sec-fetch-site': 'same-origin' },
    ];
    for (const [number, headers] of own.entries()) {
      const submitted = await byCookie(p, cookie, 'POST', '/admin/allowed-accounts', headers, { email: `form${number}@example.com` });
      assert.is(submitted.status, 201, submitted.text);
    }
  },
);

test('after too many failed sign-ins from an IP address, the issuer gets no requests until the minute is over', async () => {
  const issuer = await startIssuer();
  const config = { oidcIssuer: issuer.url, oidcClientId: CLIENT.id, oidcClientSecret: CLIENT.secret };
  const p = await createTestPlatform({ issuer: config, limits: createRateLimiter() });
  try {
    let now = Date.now();
    p.clock.now = () => now;
    const { location, cookie } = await startSignIn(p);
    const state = new URL(location).searchParams.get('state')!;
    const guess = () => finishSignIn(p, `${CALLBACK}?code=guessed&state=${state}&iss=${encodeURIComponent(issuer.url)}`, cookie);
    for (let index = 0; index < RATE_LIMIT_POLICIES.badCredentials.quota; index++) assert.is((await guess()).status, 401);
    assert.is((await guess()).status, 429);
    await issuer.close();
    const refused = await guess();
    assert.is(refused.status, 429);
    const wait = Number(refused.headers.get('retry-after'));
    assert.ok(wait >= 1 && wait <= 60, String(wait));
    now += wait * 1_000;
    assert.is((await guess()).status, 503, 'the issuer is asked again and does not answer');
  } finally {
    await p.close();
    await issuer.close();
  }
});

signInTest('a sign-in gets 503 if the issuer fails or does not answer', async (stage) => {
  const { p, issuer } = stage;
  await allowAccount(stage);
  for (const [path, how] of [
    ['/token', 'fails'],
    ['/me', 'fails'],
    ['/token', 'no response'],
  ] as const) {
    delete issuer.failure.path;
    const started = await startSignIn(p);
    const back = await signInAtIssuer(started.location, 'somebody');
    Object.assign(issuer.failure, { path, how });
    const answer = await finishSignIn(p, back, started.cookie);
    assert.is(answer.status, 503, `${path} ${how}: ${answer.text}`);
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
  }
});

test('without a configured issuer, the response to a sign-in names the missing environment variable', async () => {
  const p = await createTestPlatform();
  const answer = await p.send('GET', '/auth/login', { key: '' });
  assert.is(answer.status, 409);
  assert.match(answer.text, /OIDC_ISSUER/);
  await p.close();
});

test.run();
