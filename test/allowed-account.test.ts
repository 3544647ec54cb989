import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isAllowedAccount } from '../commands/allowed-account.ts';
import { inMemory } from './in-memory.ts';

const ACCOUNTS = '/admin/allowed-accounts';

test('an address is allowed once, shown, taken back, and allowed again as another account', async () => {
  const p = await inMemory();
  const allow = (email: string) => p.send('POST', ACCOUNTS, { body: { email } });
  const first = await allow('Ada@Example.com');
  assert.is(first.status, 201);
  const { id, email } = first.body as { id: string; email: string };
  assert.is(email, 'ada@example.com');
  assert.is(first.headers.get('location'), `${ACCOUNTS}/${id}`);
  assert.is((await allow('ada@example.COM')).status, 409);
  assert.is(await isAllowedAccount(p.systemContext(), 'ADA@example.com'), true);
  await p.settled();
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
  await p.settled();
  assert.equal(
    ((await p.send('GET', ACCOUNTS)).body as { id: string }[]).map((one) => one.id),
    [(again.body as { id: string }).id],
  );
  assert.equal(p.unapplied(), []);
  await p.close();
});

test('an address is 3 to 253 characters of an e-mail address', async () => {
  const p = await inMemory();
  for (const email of ['', 'a', 'nobody', `${'a'.repeat(250)}@b.test`, 1, null])
    assert.is((await p.send('POST', ACCOUNTS, { body: { email } })).status, 422, String(email));
  assert.equal(p.eventsOf('AccountAllowed'), []);
  await p.close();
});

test.run();
