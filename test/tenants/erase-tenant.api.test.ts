import { verify } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { secret } from '../../domain/secret.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { createSecondTenant as createTenant } from '../fixtures/users.ts';

type Receipt = { tenant_id: string; key_destroyed_at: string; position: string; streams: number; events: number; signature: string };

const body = { reason: 'The customer has left' };

test('an erased tenant is closed, its secrets cannot be opened, and the receipt counts its streams and events', async () => {
  const p = await createTestPlatform();
  const acme = await createTenant(p, 'acme');
  const other = await createTenant(p, 'other');
  const location = { tenant: acme.id, category: 'agent', id: 'a', field: 'config' };
  const sealed = await p.vault.seal(location, secret('canary'));
  const ofTenant = () => p.log.events.filter(({ tenant, category }) => tenant === acme.id && category !== 'key');
  const before = ofTenant();
  const { status, body: receipt } = await p.send('DELETE', `/admin/tenants/${acme.id}`, { body });
  assert.is(status, 202);
  const { tenant_id, position, streams, events } = receipt as Receipt;
  assert.equal([tenant_id, streams], [acme.id, new Set(before.map(({ stream }) => stream)).size]);
  assert.is(events, before.length + 2);
  assert.is(`${p.eventsOf('TenantErased')[0]!.position.commit}:${p.eventsOf('TenantErased')[0]!.position.prepare}`, position);
  const failure = await p.vault.open(location, sealed).then(
    () => null,
    (error: { kind?: string }) => error.kind,
  );
  assert.is(failure, 'gone');
  assert.is((await p.send('GET', acme.tenant, { key: acme.key })).status, 401);
  assert.is((await p.send('GET', other.tenant, { key: other.key })).status, 200);
  assert.equal(p.unappliedEvents(), []);
  await p.close();
});

test('a repeated erasure returns the same receipt and records nothing', async () => {
  const p = await createTestPlatform();
  const acme = await createTenant(p, 'acme');
  const first = await p.send('DELETE', `/admin/tenants/${acme.id}`, { body });
  const count = p.log.events.length;
  const again = await p.send('DELETE', `/admin/tenants/${acme.id}`, { body });
  assert.equal([again.status, again.body], [202, first.body]);
  assert.is(p.log.events.length, count);
  await p.close();
});

test('the signature of a receipt is valid for its fields only', async () => {
  const p = await createTestPlatform();
  const acme = await createTenant(p, 'acme');
  const receipt = (await p.send('DELETE', `/admin/tenants/${acme.id}`, { body })).body as Receipt;
  const textOf = ({ tenant_id, key_destroyed_at, position, streams, events }: Receipt) =>
    Buffer.from(['annals erasure receipt v1', tenant_id, key_destroyed_at, position, streams, events].join('\n'));
  const isValid = (one: Receipt) => verify(null, textOf(one), p.vault.receiptPublicKey(), Buffer.from(one.signature, 'base64url'));
  assert.is(isValid(receipt), true);
  assert.is(isValid({ ...receipt, events: receipt.events + 1 }), false);
  await p.close();
});

test('an erasure that was interrupted before the key was destroyed is finished by a repeat', async () => {
  const p = await createTestPlatform();
  const acme = await createTenant(p, 'acme');
  const { tombstone } = p.log;
  p.log.tombstone = () => Promise.reject(new Error('killed'));
  assert.is((await p.send('DELETE', `/admin/tenants/${acme.id}`, { body })).status, 500);
  assert.equal([p.eventsOf('TenantClosed').length, p.eventsOf('TenantErased').length], [1, 0]);
  p.log.tombstone = tombstone;
  assert.is((await p.send('DELETE', `/admin/tenants/${acme.id}`, { body })).status, 202);
  assert.is(p.eventsOf('TenantErased').length, 1);
  await p.close();
});

test('a tenant that does not exist is not erased, and a reason is required', async () => {
  const p = await createTestPlatform();
  const acme = await createTenant(p, 'acme');
  const missing = `/admin/tenants/c${'0'.repeat(24)}`;
  assert.is((await p.send('DELETE', missing, { body })).status, 404);
  assert.is((await p.send('DELETE', `/admin/tenants/${acme.id}`, { body: {} })).status, 422);
  assert.is((await p.send('DELETE', `/admin/tenants/${acme.id}`, { key: acme.key, body })).status, 403);
  assert.is(p.eventsOf('TenantErasureStarted').length, 0);
  await p.close();
});

test.run();
