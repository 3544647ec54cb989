import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isAllowedAccount } from '../../commands/identity/allowed-account.ts';
import { Email } from '../../domain/fields.ts';
import { type Answer, createInMemoryPlatform } from '../fixtures/in-memory-platform.ts';

const ACCOUNTS = '/admin/allowed-accounts';

test('an address is allowed once, shown, taken back, and allowed again as another account', async () => {
  const p = await createInMemoryPlatform();
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

const long = (length: number): string => `${'a'.repeat(length - '@b.test'.length)}@b.test`;
const ADDRESSES = [
  'a@b',
  'user@example.xn--p1ai',
  'a&b@example.com',
  "!#$%&'*+/=?^_`{|}~-.x@example.com",
  'a.b+c@mail.example.co.uk',
  `a@${'b'.repeat(63)}.test`,
  long(253),
];
const NO_ADDRESSES = [
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
  long(254),
];

test('an address is 3 to 253 characters of what a browser takes for an e-mail address, wherever one is asked for', async () => {
  const p = await createInMemoryPlatform();
  let slugs = 0;
  const asked: ((email: unknown) => Promise<Answer>)[] = [
    (email) => p.send('POST', ACCOUNTS, { body: { email } }),
    (owner_email) => p.send('POST', '/admin/tenants', { body: { name: 'A', slug: `a-${++slugs}`, owner_email } }),
    (billing_email) =>
      p.send('POST', '/admin/tenants', { body: { name: 'A', slug: `a-${++slugs}`, owner_email: 'a@b.test', billing_email } }),
    (billing_email) => p.send('PATCH', `/admin/tenants/${p.tenant_id}`, { body: { billing_email } }),
    (billing_email) => p.send('PATCH', p.tenant, { body: { billing_email } }),
    (email) => p.send('POST', `${p.tenant}/members`, { body: { email } }),
  ];
  for (const ask of asked) for (const email of [...NO_ADDRESSES, 1, {}]) assert.is((await ask(email)).status, 422, JSON.stringify(email));
  assert.equal(p.eventsOf('AccountAllowed'), []);
  for (const ask of asked.slice(0, 5))
    for (const email of ADDRESSES) {
      const { status, text } = await ask(email);
      assert.ok(status === 201 || status === 200, `${email} ${text}`);
    }
  const invited = await asked[5]!('A&B@Example.XN--P1AI');
  assert.equal([invited.status, (invited.body as { email: string }).email], [201, 'a&b@example.xn--p1ai']);
  await p.close();
});

test('whether a text is an address is found out in no time, however it is made up', () => {
  const began = performance.now();
  for (const part of ['a', 'a.', 'a-', 'a@', '@', 'a-.', '0-0'])
    for (const end of ['', '!', '\n', '@']) for (const head of ['', 'a@']) Email.safeParse(`${head}${part.repeat(100_000)}${end}`);
  const ms = performance.now() - began;
  assert.ok(ms < 1_000, `${ms} ms`);
});

test.run();
