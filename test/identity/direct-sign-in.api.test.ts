import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueSignInLink, LINK_TTL_MINUTES } from '../../commands/identity/sign-in-link.ts';
import { RATE_LIMIT_POLICIES } from '../../domain/access/rate-limit-policy.ts';
import { createRateLimiter } from '../../infra/ratelimit/limiter.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Platform = Awaited<ReturnType<typeof createTestPlatform>>;

const OWN_PAGE = { origin: 'http://annals.test', 'sec-fetch-site': 'same-origin' };

const onPlatform = (name: string, act: (p: Platform) => Promise<void>, options: Parameters<typeof createTestPlatform>[0] = {}) =>
  test(name, async () => {
    const p = await createTestPlatform(options);
    try {
      await act(p);
      assert.equal(p.unappliedEvents(), []);
    } finally {
      await p.close();
    }
  });

const post = (p: Platform, path: string, body: unknown, headers: Record<string, string> = OWN_PAGE) =>
  p.send('POST', path, { key: '', headers, body });

const cookieOf = ({ headers }: { headers: Headers }): string => headers.getSetCookie()[0]!.split(';')[0]!;

const me = (p: Platform, cookie: string) => p.send('GET', '/me', { key: '', headers: { cookie } });

onPlatform('a sign-in link signs a browser in once; the second use names time and address of the first', async (p) => {
  const code = await issueSignInLink(p.systemContext());
  const first = await post(p, '/auth/link', { code });
  assert.is(first.status, 204, first.text);
  const set = first.headers.getSetCookie()[0]!;
  for (const attribute of [/; HttpOnly/, /; SameSite=Lax/, /; Path=\//, /; Max-Age=43200/]) assert.match(set, attribute);
  const { user } = (await me(p, cookieOf(first))).body as { user: { email: string; is_super_admin: boolean } };
  assert.equal([user.email, user.is_super_admin], ['admin@annals.localhost', true]);
  const second = await post(p, '/auth/link', { code });
  assert.is(second.status, 401);
  assert.match(second.text, /was used at 20.+ from 127\.0\.0\.1: make another with annals login/);
  assert.equal(
    p.eventsOf('SignInLinkIssued', 'SignInLinkUsed', 'SignedIn').map(({ type, data }) => [type, (data as { by?: string }).by]),
    [
      ['SignInLinkIssued', undefined],
      ['SignInLinkUsed', undefined],
      ['SignedIn', 'link'],
    ],
  );
  assert.not.ok(JSON.stringify(p.log.events.map(({ data }) => data)).includes(code.split('.')[1]!), 'the log has no code');
});

onPlatform('of two browsers that use a sign-in link at the same time, one is signed in', async (p) => {
  const code = await issueSignInLink(p.systemContext());
  const answers = await Promise.all([post(p, '/auth/link', { code }), post(p, '/auth/link', { code })]);
  assert.equal(answers.map(({ status }) => status).sort(), [204, 401]);
  assert.is(p.eventsOf('SignedIn').length, 1);
});

onPlatform('a sign-in link is refused if it is late, altered, unknown, or sent by GET or from a page of another site', async (p) => {
  const code = await issueSignInLink(p.systemContext());
  const [id] = code.split('.');
  for (const wrong of [`${code}x`, code.slice(0, -1), id!, `${id}.`, 'x', `c${'0'.repeat(24)}.abc`])
    assert.is((await post(p, '/auth/link', { code: wrong })).status, 401, wrong);
  assert.is((await p.send('GET', `/auth/link?code=${code}`, { key: '' })).status, 405);
  const foreign: Record<string, string>[] = [
    {},
    { origin: 'https://elsewhere.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'same-site' },
  ];
  for (const headers of foreign) assert.is((await post(p, '/auth/link', { code }, headers)).status, 403, JSON.stringify(headers));
  for (const body of [{}, { code, other: 1 }, { code, return_to: '//elsewhere.example' }, { code, return_to: '/\\elsewhere.example' }])
    assert.is((await post(p, '/auth/link', body)).status, 422, JSON.stringify(body));
  const startedAt = Date.now();
  p.clock.now = () => startedAt + LINK_TTL_MINUTES * 60_000 + 5_000;
  const late = await post(p, '/auth/link', { code });
  assert.is(late.status, 401);
  assert.match(late.text, /expired at/);
  assert.is(p.eventsOf('SignInLinkUsed', 'SignedIn').length, 0);
});

onPlatform('a form that signs in is redirected to return_to, by default to the console', async (p) => {
  const send = async (fields: Record<string, string>) =>
    p.send('POST', '/auth/key', {
      key: '',
      raw: new URLSearchParams(fields).toString(),
      headers: { ...OWN_PAGE, 'content-type': 'application/x-www-form-urlencoded' },
    });
  const plain = await send({ key: p.key });
  assert.equal([plain.status, plain.headers.get('location')], [303, '/console']);
  assert.is((await send({ key: p.key, return_to: '/console/t/x?a=1' })).headers.get('location'), '/console/t/x?a=1');
  assert.is((await send({ key: p.key, return_to: 'https://elsewhere.example' })).status, 422);
  assert.is((await send({ key: 'x'.repeat(5_000) })).status, 413);
});

onPlatform('a session by API key has the limits of the key, names it in events, and ends when the key is revoked', async (p) => {
  const body = { name: 'Reader', read_only: true };
  const created = (await p.send('POST', `${p.tenant}/api-keys`, { body })).body as { id: string; key: string };
  const answer = await post(p, '/auth/key', { key: created.key });
  assert.is(answer.status, 204, answer.text);
  const cookie = cookieOf(answer);
  const who = (await me(p, cookie)).body as { actor: { key_id: string }; read_only: boolean; tenants: { id: string }[] };
  assert.equal([who.actor.key_id, who.read_only, who.tenants.map(({ id }) => id)], [created.id, true, [p.tenant_id]]);
  const change = await p.send('POST', `${p.tenant}/agents`, {
    key: '',
    headers: { cookie, ...OWN_PAGE },
    body: { name: 'Agent', slug: 'agent' },
  });
  assert.is(change.status, 403);
  const [signedIn] = p.eventsOf('SignedIn');
  assert.equal([(signedIn!.data as { by: string }).by, (signedIn!.data as { key_id: string }).key_id], ['key', created.id]);
  await p.send('DELETE', `${p.tenant}/api-keys/${created.id}`);
  assert.is((await me(p, cookie)).status, 401);
});

onPlatform('a session by API key ends when the key expires', async (p) => {
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const created = (await p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'Short', expires_at } })).body as { key: string };
  const cookie = cookieOf(await post(p, '/auth/key', { key: created.key }));
  assert.is((await me(p, cookie)).status, 200);
  const startedAt = Date.now();
  p.clock.now = () => startedAt + 3_700_000;
  assert.is((await me(p, cookie)).status, 401);
});

onPlatform('a sign-in by API key is refused for the key of a runner, for a wrong key, and from other pages', async (p) => {
  const agent = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).body as { id: string };
  const runner = (await p.send('POST', `${p.tenant}/agents/${agent.id}/runner-keys`, { body: { name: 'Runner' } })).body as { key: string };
  const refused = await post(p, '/auth/key', { key: runner.key });
  assert.is(refused.status, 403, refused.text);
  assert.match(refused.text, /runner/);
  for (const key of ['nonsense', `${p.key}x`, '']) assert.ok([401, 422].includes((await post(p, '/auth/key', { key })).status), key);
  assert.is((await post(p, '/auth/key', { key: p.key }, { origin: 'https://elsewhere.example' })).status, 403);
  assert.is(p.eventsOf('SignedIn').length, 0);
});

onPlatform(
  'wrong codes count as invalid credentials of the IP address',
  async (p) => {
    for (let index = 0; index < RATE_LIMIT_POLICIES.badCredentials.quota; index++)
      assert.is((await post(p, '/auth/link', { code: `c.${index}` })).status, 401);
    assert.is((await post(p, '/auth/link', { code: 'c.more' })).status, 429);
    assert.is((await post(p, '/auth/key', { key: 'nonsense' })).status, 429);
  },
  { limits: createRateLimiter() },
);

onPlatform('a link for a user who is not a member of any tenant and may not sign in is refused', async (p) => {
  const member = await addMember(p, 'MEMBER');
  const code = await issueSignInLink(p.systemContext(), 'member@example.com');
  await p.send('DELETE', `${p.tenant}/members/${member.user_id}`);
  await p.waitForProjections();
  assert.is((await post(p, '/auth/link', { code })).status, 403);
});

test.run();
