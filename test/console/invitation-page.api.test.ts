import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { browserName } from '../../api/console/parts/browser-name.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';

const p = await startConsole();
const HOUR_MS = 3_600_000;
const LINUX = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36';

type Invitation = { readonly token: string; readonly link: string; readonly user_id: string };

const counter = { next: 0 };

/** Adds a member, and invites them. */
const invite = async (role: string): Promise<Invitation & { readonly email: string; readonly again: () => Promise<Invitation> }> => {
  const email = `person.${counter.next++}@example.com`;
  const { user_id } = (await p.send('POST', `${p.tenant}/members`, { body: { email, role } })).body as { user_id: string };
  const again = async () => (await p.send('POST', `${p.tenant}/members/${user_id}/invitation`)).body as Invitation;
  return { ...(await again()), user_id, email, again };
};

const show = (token: string, headers: Record<string, string> = OWN_PAGE) => p.submit('/console/invitation', { token }, headers, '');
const join = (token: string, headers: Record<string, string> = { ...OWN_PAGE, 'user-agent': LINUX }) =>
  p.submit('/console/invitation/join', { token }, headers, '');

const ROLES = { OWNER: /do everything/, ADMIN: /change agents/, MEMBER: /create agents/, AUDITOR: /change nothing/ };

for (const [role, words] of Object.entries(ROLES))
  test(`an invitation as ${role} says who invites to what, and what the role may do; it stays unused`, async () => {
    const { token, email } = await invite(role);
    for (const _ of [1, 2]) {
      const { status, text } = await show(token);
      assert.is(status, 200, text);
      assert.match(text, new RegExp(`invites you to [^.]*as ${role}`));
      for (const shown of [words, email, /Join/]) assert.match(text, shown);
    }
    assert.is(p.eventsOf('MemberInvitationAccepted').filter(({ actor }) => actor.kind === 'user' && actor.id === email).length, 0);
  });

test('the link of an invitation leads to a page of the console, with the token in its fragment only', async () => {
  const { token, link } = await invite('MEMBER');
  assert.is(link, `http://annals.test/console/invitation#${token}`);
  const page = await p.open('/console/invitation', '');
  assert.is(page.status, 200);
  assert.match(page.text, /invitation\.mjs/);
  assert.equal(
    ['referrer-policy', 'cache-control'].map((name) => page.headers.get(name)),
    ['no-referrer', 'no-store'],
  );
});

test('a browser at the URL to which clients post the token is led to the page; clients still post there', async () => {
  const opened = await p.open('/invitations/accept', '');
  assert.equal([opened.status, opened.headers.get('location')], [303, '/console/invitation']);
  const { token } = await invite('MEMBER');
  assert.is((await p.send('POST', '/invitations/accept', { key: '', body: { token } })).status, 201);
});

test('Join signs the browser in as the invited member, and shows the key, which is named after the browser', async () => {
  const { token, user_id } = await invite('AUDITOR');
  const joined = await join(token);
  assert.is(joined.status, 200, joined.text);
  const key = /ann_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}/.exec(joined.text)![0];
  const cookie = joined.headers.getSetCookie()[0]!.split(';')[0]!;
  const me = await p.send('GET', '/me', { key: '', headers: { cookie } });
  assert.is((me.body as { user: { id: string } }).user.id, user_id);
  assert.is((await p.send('GET', '/me', { key })).status, 200);
  await p.waitForProjections();
  assert.is((await p.open(p.base, cookie)).status, 200);
  assert.match(
    p
      .eventsOf('ApiKeyCreated')
      .map(({ data }) => JSON.stringify(data))
      .join(),
    /"name":"Chrome 156 on Linux"/,
  );
});

type Refused = {
  readonly what: string;
  readonly says: RegExp;
  readonly prepare: (one: Awaited<ReturnType<typeof invite>>) => Promise<string>;
};

const REFUSED: readonly Refused[] = [
  {
    what: 'used',
    says: /has been used: .+ can make another one/,
    prepare: async ({ token }) => {
      await join(token);
      return token;
    },
  },
  {
    what: 'expired',
    says: /expired at .+: .+ can make another one/,
    prepare: async ({ token }) => {
      const { now } = p.clock;
      p.clock.now = () => now() + 73 * HOUR_MS;
      return token;
    },
  },
  {
    what: 'replaced',
    says: /owner or admin of the tenant makes one/,
    prepare: async ({ token, again }) => {
      await again();
      return token;
    },
  },
  {
    what: 'withdrawn',
    says: /owner or admin of the tenant makes one/,
    prepare: async ({ token, user_id }) => {
      await p.send('DELETE', `${p.tenant}/members/${user_id}`);
      return token;
    },
  },
  { what: 'mistyped', says: /is not valid/, prepare: async ({ token }) => `${token}0` },
];

for (const { what, says, prepare } of REFUSED)
  test(`a ${what} invitation is refused with a page that says who can make another one, also when joining`, async () => {
    const { now } = p.clock;
    const one = await invite('MEMBER');
    const token = await prepare(one);
    const answers = [await show(token), await join(token)];
    p.clock.now = now;
    for (const { status, text, headers } of answers) {
      assert.is(status, 401, text);
      assert.match(text, says);
      assert.match(text, /href="\/console\/invitation"/);
      assert.ok(text.includes(headers.get('x-request-id')!));
      assert.equal(headers.getSetCookie(), []);
    }
  });

test('an invitation that another site sends is neither shown nor accepted', async () => {
  const { token } = await invite('MEMBER');
  const foreign = { origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' };
  for (const send of [show, join]) {
    const answer = await send(token, foreign);
    assert.is(answer.status, 403);
    assert.equal(answer.headers.getSetCookie(), []);
  }
  assert.is((await join(token)).status, 200);
});

test('the field of the sign-in page shows an invitation that was pasted into it', async () => {
  const { token } = await invite('MEMBER');
  const { status, text } = await p.submit('/console/sign-in', { key: ` ${token} ` }, OWN_PAGE, '');
  assert.is(status, 200);
  assert.match(text, /invites you to/);
});

test('the names of browsers are those that people use', () => {
  const names = {
    [LINUX]: 'Chrome 156 on Linux',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0':
      'Edge 140 on Windows',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15':
      'Safari 18 on macOS',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0.7339.39 Mobile/15E148 Safari/604.1':
      'Chrome 140 on iOS',
    'Mozilla/5.0 (Android 15; Mobile; rv:143.0) Gecko/143.0 Firefox/143.0': 'Firefox 143 on Android',
    'curl/8.5.0': null,
    'Mozilla/5.0 (<script>alert(1)</script>)': null,
  };
  for (const [userAgent, name] of Object.entries(names)) assert.is(browserName(userAgent), name);
});

afterLastTest(() => p.close());

test.run();
