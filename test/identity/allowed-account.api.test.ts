import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isAllowedAccount } from '../../commands/identity/allowed-account.ts';
import { Email } from '../../domain/fields.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';

const ACCOUNTS = '/admin/allowed-accounts';

test('an allowed e-mail address is listed, and allowing it again is refused; after it was disallowed, allowing it again creates a new account', async () => {
  const p = await createTestPlatform();
  const allow = (email: string) => p.send('POST', ACCOUNTS, { body: { email } });
  const first = await allow('Ada@Example.com');
  assert.is(first.status, 201);
  const { id, email } = first.body as { id: string; email: string };
  assert.is(email, 'ada@example.com');
  assert.is(first.headers.get('location'), `${ACCOUNTS}/${id}`);
  assert.is((await allow('ada@example.COM')).status, 409);
  assert.is(await isAllowedAccount(p.systemContext(), 'ADA@example.com'), true);
  await p.waitForProjections();
  assert.equal(
    ((await p.send('GET', ACCOUNTS)).body as { id: string }[]).map((one) => one.id),
    [id],
  );
  assert.is((await p.send('DELETE', `${ACCOUNTS}/${id}`)).status, 204);
  assert.is((await p.send('DELETE', `${ACCOUNTS}/${id}`)).status, 404);
  assert.is(await isAllowedAccount(p.systemContext(), 'ada@example.com'), false);
  const again = await allow('ada@example.com');
  assert.is(again.status, 201);
  assert.is.not((again.body as { id: string }).id, id);
  assert.equal(
    p.eventsOf('AccountAllowed').map(({ data }) => (data as { generation: number }).generation),
    [0, 1],
  );
  await p.waitForProjections();
  assert.equal(
    ((await p.send('GET', ACCOUNTS)).body as { id: string }[]).map((one) => one.id),
    [(again.body as { id: string }).id],
  );
  assert.equal(p.unappliedEvents(), []);
  await p.close();
});

const addressOfLength = (length: number): string => `${'a'.repeat(length - '@b.test'.length)}@b.test`;
const VALID_ADDRESSES = [
  'a@b',
  'user@example.xn--p1ai',
  'a&b@example.com',
  "!#$%&'*+/=?^_`{|}~-.x@example.com",
  'a.b+c@mail.example.co.uk',
  `a@${'b'.repeat(63)}.test`,
  addressOfLength(253),
];
const INVALID_ADDRESSES = [
  ...['', 'a', 'nobody', '@b', 'a@', 'a@@b', 'a@b@c', 'a b@c.test', ' a@b.test', 'a@b.test ', 'a@b c.test', 'a,b@c.test', '"a"@b.test'],
  ...['a@b.test\n', '\na@b.test', 'a\n@b.test', 'a@b.test\r\nBcc: c@d.test', 'a\u0000@b.test', 'a\u007f@b.test', 'a@b\u0085.test'],
  ...[
    'a@.b',
    'a@b.',
    'a@b..c',
    'a@-b.test',
    'a@b-.test',
    `a@${'b'.repeat(64)}.test`,
    'a@b_c.test',
    '\u0430@b.test',
    'a@\u0431.test',
    'a<b>@c.test',
  ],
  addressOfLength(254),
];

test('every field for an e-mail address accepts 3 to 253 characters, in the form that browsers accept', async () => {
  const p = await createTestPlatform();
  let slugs = 0;
  const requests: ((email: unknown) => Promise<Answer>)[] = [
    (email) => p.send('POST', ACCOUNTS, { body: { email } }),
    (owner_email) => p.send('POST', '/admin/tenants', { body: { name: 'A', slug: `a-${++slugs}`, owner_email } }),
    (billing_email) =>
      p.send('POST', '/admin/tenants', { body: { name: 'A', slug: `a-${++slugs}`, owner_email: 'a@b.test', billing_email } }),
    (billing_email) => p.send('PATCH', `/admin/tenants/${p.tenant_id}`, { body: { billing_email } }),
    (billing_email) => p.send('PATCH', p.tenant, { body: { billing_email } }),
    (email) => p.send('POST', `${p.tenant}/members`, { body: { email } }),
  ];
  for (const send of requests)
    for (const email of [...INVALID_ADDRESSES, 1, {}]) assert.is((await send(email)).status, 422, JSON.stringify(email));
  assert.equal(p.eventsOf('AccountAllowed'), []);
  for (const send of requests.slice(0, 5))
    for (const email of VALID_ADDRESSES) {
      const { status, text } = await send(email);
      assert.ok(status === 201 || status === 200, `${email} ${text}`);
    }
  const invited = await requests[5]!('A&B@Example.XN--P1AI');
  assert.equal([invited.status, (invited.body as { email: string }).email], [201, 'a&b@example.xn--p1ai']);
  await p.close();
});

test('the time to check an e-mail address is proportional to the length of the address', () => {
  const startedAt = performance.now();
  for (const part of ['a', 'a.', 'a-', 'a@', '@', 'a-.', '0-0'])
    for (const end of ['', '!', '\n', '@']) for (const head of ['', 'a@']) Email.safeParse(`${head}${part.repeat(100_000)}${end}`);
  const ms = performance.now() - startedAt;
  assert.ok(ms < 1_000 * loadFactor(), `${ms} ms`);
});

test.run();
