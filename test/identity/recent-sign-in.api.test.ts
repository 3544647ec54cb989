import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { signInAtIssuer } from '../fixtures/oidc-issuer.ts';
import { type SignInPlatform, SOMEBODY, signInTest } from '../fixtures/sign-in-platform.ts';

type Json = Record<string, unknown>;
type P = SignInPlatform['p'];

const MINUTE_MS = 60_000;
const OWN_PAGE = { origin: 'http://annals.test', 'sec-fetch-site': 'same-origin' };

const cookiePairs = (headers: Headers): string[] => headers.getSetCookie().map((cookie) => cookie.split(';')[0]!);

/**
 * Signs in with a browser at the identity provider. `change` can alter the browser's request to the provider. @returns
 * the platform's response to the callback, and the query parameters that the platform passed to the provider
 */
const signInBy = async (p: P, query: string, change: (sent: URLSearchParams) => void = () => {}) => {
  const started = await p.send('GET', `/auth/login${query}`, { key: '' });
  assert.is(started.status, 302, started.text);
  const location = new URL(started.headers.get('location')!);
  const sent = new URLSearchParams(location.searchParams);
  change(location.searchParams);
  const back = await signInAtIssuer(location.href, 'somebody');
  const cookie = cookiePairs(started.headers).join('; ');
  const answer = await p.send('GET', back.replace('http://annals.test', ''), { key: '', headers: { cookie } });
  return { answer, sent };
};

/** Signs in with a browser. @returns the query parameters that the identity provider got, and the session cookie */
const signIn = async (p: P, query = '') => {
  const { answer, sent } = await signInBy(p, query);
  assert.is(answer.status, 303, answer.text);
  const session = cookiePairs(answer.headers).find((pair) => pair.startsWith('annals_session='))!;
  return { sent, session };
};

const call = (p: P, cookie: string, method: string, path: string, body?: unknown) =>
  p.send(method, path, { key: '', headers: { cookie, ...OWN_PAGE }, ...(body === undefined ? {} : { body }) });

/** Submits the form of an operation. */
const submit = (p: P, cookie: string, operation: string, fields: Record<string, string>) =>
  p.send('POST', `/console/run/${operation}`, {
    key: '',
    raw: new URLSearchParams({ _key: crypto.randomUUID(), ...fields }).toString(),
    headers: { cookie, ...OWN_PAGE, 'content-type': 'application/x-www-form-urlencoded' },
  });

const addSuperAdmin = async (p: P): Promise<string> => {
  const added = await p.send('POST', '/admin/allowed-accounts', { body: { email: SOMEBODY } });
  assert.ok(added.status < 300, added.text);
  const { session } = await signIn(p);
  const { user } = (await call(p, session, 'GET', '/me')).body as { user: { id: string } };
  const granted = await p.send('PATCH', `/api/v1/admin/users/${user.id}`, { body: { is_super_admin: true } });
  assert.is(granted.status, 200, granted.text);
  return user.id;
};

/** Calls all operations that require a recent sign-in. @returns the statuses and problem codes of the responses */
const callAll = async (p: P, cookie: string, user_id: string): Promise<unknown[]> => {
  const tenant = p.tenant.split('/').at(-1);
  const answers = [
    await call(p, cookie, 'POST', `/admin/tenants/${tenant}/break-glass`, { reason: 'A support request', minutes: 10 }),
    await call(p, cookie, 'PATCH', `/api/v1/admin/users/${user_id}`, { is_super_admin: true }),
    await call(p, cookie, 'DELETE', `/admin/tenants/${'c'.padEnd(25, '1')}`, { reason: 'The customer left' }),
  ];
  return answers.map(({ status, body }) => [status, (body as Json | null)?.code ?? null]);
};

signInTest(
  'if a browser signed in at the issuer more than 15 minutes ago, break-glass, changes of users and erasure are refused until a new sign-in',
  async ({ p }) => {
    const user_id = await addSuperAdmin(p);
    const { session } = await signIn(p);
    const recent = await callAll(p, session, user_id);
    assert.equal(recent.slice(0, 2), [
      [201, null],
      [200, null],
    ]);
    assert.not.equal(recent[2], [403, 'recent_sign_in_required']);
    const signedInAt = Date.now();
    p.clock.now = () => signedInAt + 14 * MINUTE_MS;
    assert.is((await callAll(p, session, user_id))[1]![0 as never], 200);
    p.clock.now = () => signedInAt + 16 * MINUTE_MS;
    const refusal = [403, 'recent_sign_in_required'];
    assert.equal(await callAll(p, session, user_id), [refusal, refusal, refusal]);
    assert.is((await call(p, session, 'GET', '/me')).status, 200, 'the session continues');
    const byKey = await p.send('PATCH', `/api/v1/admin/users/${user_id}`, { body: { is_super_admin: true } });
    assert.is(byKey.status, 200, 'an API key is not affected');
  },
);

signInTest(
  'the parameter max_age is passed to the issuer, and the callback is refused if the ID token does not say when the user signed in',
  async ({ p }) => {
    await addSuperAdmin(p);
    const { sent } = await signIn(p, '?max_age=0&return_to=/console/me');
    assert.is(sent.get('max_age'), '0');
    assert.is((await signIn(p)).sent.get('max_age'), null);
    const { answer } = await signInBy(p, '?max_age=0', (parameters) => parameters.delete('max_age'));
    assert.is(answer.status, 401, 'the ID token does not say when the user signed in');
    assert.not.ok(cookiePairs(answer.headers).some((pair) => /^annals_session=./.test(pair)));
    for (const bad of ['-1', '1.5', 'x', '', '999999999'])
      assert.is((await p.send('GET', `/auth/login?max_age=${bad}`, { key: '' })).status, 422, bad);
  },
);

signInTest('instead of a form that needs a recent sign-in, the console shows a link to sign in again', async ({ p }) => {
  const user_id = await addSuperAdmin(p);
  const { session } = await signIn(p);
  const signedInAt = Date.now();
  p.clock.now = () => signedInAt + 16 * MINUTE_MS;
  const answer = await submit(p, session, 'updateUser', { ':user_id': user_id, '/is_super_admin': 'true' });
  assert.is(answer.status, 403);
  assert.match(answer.text, /This needs a sign-in of the last 15 minutes/);
  const link = /href="(\/auth\/login\?max_age=0[^"]*)"/.exec(answer.text)![1]!.replaceAll('&amp;', '&');
  const target = new URL(new URL(link, 'http://annals.test').searchParams.get('return_to')!, 'http://annals.test');
  assert.equal([target.pathname, target.searchParams.get('user_id')], ['/console/run/updateUser', user_id]);
});

signInTest('the form that erases a tenant keeps the typed name when it asks for a recent sign-in', async ({ p }) => {
  await addSuperAdmin(p);
  const { session } = await signIn(p);
  const signedInAt = Date.now();
  p.clock.now = () => signedInAt + 16 * MINUTE_MS;
  const { name } = (await p.send('GET', `/admin/tenants/${p.tenant_id}`)).body as { name: string };
  const fields = { ':tenant_id': p.tenant_id, '/reason': 'The customer left', _name: name };
  const answer = await submit(p, session, 'eraseTenant', fields);
  assert.is(answer.status, 403);
  assert.match(answer.text, /This needs a sign-in of the last 15 minutes/);
  assert.match(answer.text, new RegExp(`name="_name"[^>]*value="${name}"`));
});

test.run();
