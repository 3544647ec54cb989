import { setTimeout as sleep } from 'node:timers/promises';
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

onPlatform('a sign-in link signs a browser in once; its second use is refused with the time and the address of the first', async (p) => {
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

const WAYS: Readonly<Record<string, (p: Platform, key: string) => Promise<{ status: number; text: string }>>> = {
  'an API key in the header': (p, key) => p.send('GET', '/me', { key }),
  'a browser that signs in with an API key': (p, key) => post(p, '/auth/key', { key }),
};

for (const [way, use] of Object.entries(WAYS))
  onPlatform(`the list of users and the audit log say when a user was active, with ${way}`, async (p) => {
    const ctx = p.systemContext();
    const { user_id: id, key } = await addMember(p, 'MEMBER');
    const user = async () => {
      const users = (await p.send('GET', '/api/v1/admin/users?limit=100')).body as { id: string; last_login_at: string | null }[];
      return users.find((one) => one.id === id);
    };
    assert.is((await user())?.last_login_at, null);
    const before = ctx.at();
    const answer = await use(p, key);
    assert.ok(answer.status < 300, answer.text);
    while (p.eventsOf('ApiKeyUsed', 'UserSeen').every((event) => event.id !== id && event.actor.id !== id)) await sleep(5);
    await p.waitForProjections();
    assert.ok((await user())!.last_login_at! >= before, way);
    const entries = (await p.send('GET', '/admin/audit-logs?limit=100')).body as { summary: string }[];
    const wrong = entries.filter(
      ({ summary }) => /recorded that .* (?:is active|is in use)/.test(summary) && !summary.startsWith('The platform'),
    );
    assert.equal(wrong, []);
  });

onPlatform('if two browsers use a sign-in link at the same time, exactly one is signed in', async (p) => {
  const code = await issueSignInLink(p.systemContext());
  const answers = await Promise.all([post(p, '/auth/link', { code }), post(p, '/auth/link', { code })]);
  assert.equal(answers.map(({ status }) => status).sort(), [204, 401]);
  assert.is(p.eventsOf('SignedIn').length, 1);
});

onPlatform(
  'a sign-in link is refused if it is altered, unknown or used too late, or if it is sent by GET or from a page of another site',
  async (p) => {
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
  },
);

onPlatform('after a sign-in by form, the browser is redirected to return_to, by default to the console', async (p) => {
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

onPlatform(
  'a session from a sign-in with an API key has the limits of the key, names the key in events, and ends when the key is revoked',
  async (p) => {
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
  },
);

onPlatform('a session from a sign-in with an API key ends when the key expires', async (p) => {
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const created = (await p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'Short', expires_at } })).body as { key: string };
  const cookie = cookieOf(await post(p, '/auth/key', { key: created.key }));
  assert.is((await me(p, cookie)).status, 200);
  const startedAt = Date.now();
  p.clock.now = () => startedAt + 3_700_000;
  assert.is((await me(p, cookie)).status, 401);
});

onPlatform('a sign-in with an API key is refused for a runner key, for a wrong key, and from pages of other sites', async (p) => {
  const agent = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).body as { id: string };
  const runner = (await p.send('POST', `${p.tenant}/agents/${agent.id}/runner-keys`, { body: { name: 'Runner' } })).body as { key: string };
  const refused = await post(p, '/auth/key', { key: runner.key });
  assert.is(refused.status, 403, refused.text);
  assert.match(refused.text, /runner/);
  for (const key of ['nonsense', `${p.key}x`, '']) assert.ok([401, 422].includes((await post(p, '/auth/key', { key })).status), key);
  assert.is((await post(p, '/auth/key', { key: p.key }, { origin: 'https://elsewhere.example' })).status, 403);
  assert.is(p.eventsOf('SignedIn').length, 0);
});

type Listed = { id: string; by: string; key_id: string | null; ip: string | null; user_agent: string | null; is_current: boolean };

const signInsOf = async (p: Platform, cookie: string): Promise<Listed[]> => {
  const answer = await p.send('GET', '/me/sign-ins', { key: '', headers: { cookie } });
  assert.is(answer.status, 200, answer.text);
  return answer.body as Listed[];
};

onPlatform(
  'a user can list their sign-ins, end one of them, and end all others; the cookies of ended sign-ins are refused at once',
  async (p) => {
    const browser = async (name: string) =>
      cookieOf(await post(p, '/auth/link', { code: await issueSignInLink(p.systemContext()) }, { ...OWN_PAGE, 'user-agent': name }));
    const [one, two, three] = [await browser('one'), await browser('two'), await browser('three')];
    const end = (path: string) => p.send('DELETE', `/me/sign-ins${path}`, { key: '', headers: { cookie: one, ...OWN_PAGE } });
    await p.waitForProjections();
    const list = await signInsOf(p, one);
    assert.equal(
      list.map(({ by, key_id, user_agent, is_current }) => [by, key_id, user_agent, is_current]),
      [
        ['link', null, 'three', false],
        ['link', null, 'two', false],
        ['link', null, 'one', true],
      ],
    );
    assert.not.ok(JSON.stringify(list).includes('digest'));
    assert.is((await end(`/${list[1]!.id}`)).status, 204);
    assert.equal([(await me(p, two)).status, (await me(p, three)).status], [401, 200]);
    assert.is((await end(`/${list[1]!.id}`)).status, 404, 'it has ended');
    assert.is((await end('')).status, 204);
    assert.equal([(await me(p, one)).status, (await me(p, three)).status], [200, 401]);
    await p.waitForProjections();
    assert.equal(
      (await signInsOf(p, one)).map(({ user_agent }) => user_agent),
      ['one'],
    );
  },
);

onPlatform(
  "no user can see or end another user's sign-ins; a session that a tenant's API key has opened does not list the user's sign-in by link",
  async (p) => {
    const admin = cookieOf(await post(p, '/auth/link', { code: await issueSignInLink(p.systemContext()) }));
    const member = await addMember(p, 'MEMBER');
    const session = cookieOf(await post(p, '/auth/key', { key: member.key }));
    const link = await issueSignInLink(p.systemContext(), 'member@example.com');
    const other = cookieOf(await post(p, '/auth/link', { code: link }));
    await p.waitForProjections();
    const [foreign] = await signInsOf(p, admin);
    const stolen = await p.send('DELETE', `/me/sign-ins/${foreign!.id}`, { key: '', headers: { cookie: session, ...OWN_PAGE } });
    assert.is(stolen.status, 404);
    assert.equal(
      (await signInsOf(p, session)).map(({ by, is_current }) => [by, is_current]),
      [['key', true]],
    );
    assert.equal((await signInsOf(p, other)).map(({ by }) => by).sort(), ['key', 'link']);
  },
);

onPlatform('the use of a sign-in is recorded at most once an hour', async (p) => {
  const cookie = cookieOf(await post(p, '/auth/link', { code: await issueSignInLink(p.systemContext()) }));
  await me(p, cookie);
  const startedAt = Date.now();
  p.clock.now = () => startedAt + 3_700_000;
  await me(p, cookie);
  await me(p, cookie);
  while (p.eventsOf('SignInSeen').length === 0) await sleep(5);
  assert.is(p.eventsOf('SignInSeen').length, 1);
});

onPlatform(
  "a wrong code of a sign-in link counts as an invalid credential of the caller's IP address",
  async (p) => {
    for (let index = 0; index < RATE_LIMIT_POLICIES.badCredentials.quota; index++)
      assert.is((await post(p, '/auth/link', { code: `c.${index}` })).status, 401);
    assert.is((await post(p, '/auth/link', { code: 'c.more' })).status, 429);
    assert.is((await post(p, '/auth/key', { key: 'nonsense' })).status, 429);
  },
  { limits: createRateLimiter() },
);

onPlatform(
  'a sign-in link is refused for a user who belongs to no tenant and whose e-mail address is not allowed to sign in',
  async (p) => {
    const member = await addMember(p, 'MEMBER');
    const code = await issueSignInLink(p.systemContext(), 'member@example.com');
    await p.send('DELETE', `${p.tenant}/members/${member.user_id}`);
    await p.waitForProjections();
    assert.is((await post(p, '/auth/link', { code })).status, 403);
  },
);

test.run();
