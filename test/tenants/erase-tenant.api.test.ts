import { createPublicKey, verify } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { secret } from '../../domain/secret.ts';
import { rotateSigningKey } from '../../infra/audit/signing-key.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { createSecondTenant as createTenant } from '../fixtures/users.ts';

type Receipt = {
  tenant_id: string;
  key_destroyed_at: string;
  position: string;
  streams: number;
  events: number;
  signature: string;
  key_id: string;
  public_key: string;
};

const body = { reason: 'The customer has left' };

test('erasing a tenant closes the tenant and makes its secrets impossible to decrypt; the receipt contains the number of its streams and events', async () => {
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

test('repeating an erasure returns the same receipt and appends no event', async () => {
  const p = await createTestPlatform();
  const acme = await createTenant(p, 'acme');
  const first = await p.send('DELETE', `/admin/tenants/${acme.id}`, { body });
  const count = p.log.events.length;
  const again = await p.send('DELETE', `/admin/tenants/${acme.id}`, { body });
  assert.equal([again.status, again.body], [202, first.body]);
  assert.is(p.log.events.length, count);
  await p.close();
});

const textOf = ({ tenant_id, key_destroyed_at, position, streams, events }: Receipt) =>
  Buffer.from(['annals erasure receipt v1', tenant_id, key_destroyed_at, position, streams, events].join('\n'));

const isSigned = (receipt: Receipt, x: string): boolean => {
  const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } });
  return verify(null, textOf(receipt), key, Buffer.from(receipt.signature, 'base64url'));
};

test('the signature of an erasure receipt is valid only for exactly the fields of the receipt, and belongs to a key that the platform publishes', async () => {
  const p = await createTestPlatform();
  const acme = await createTenant(p, 'acme');
  const other = await createTenant(p, 'other');
  const receipt = (await p.send('DELETE', `/admin/tenants/${acme.id}`, { body })).body as Receipt;
  const keys = (await p.send('GET', `${other.tenant}/audit-logs/keys`, { key: other.key })).body as {
    key_id: string;
    public_key: string;
  }[];
  assert.equal(
    keys.map(({ key_id, public_key }) => [key_id, public_key]),
    [[receipt.key_id, receipt.public_key]],
  );
  assert.is(isSigned(receipt, keys[0]!.public_key), true);
  for (const changed of [{ events: receipt.events + 1 }, { streams: 0 }, { tenant_id: other.id }, { position: '1:1' }])
    assert.is(isSigned({ ...receipt, ...changed }, receipt.public_key), false, JSON.stringify(changed));
  await p.close();
});

test('an erasure receipt stays the same after a rotation of the key that signs receipts', async () => {
  const p = await createTestPlatform();
  const acme = await createTenant(p, 'acme');
  const other = await createTenant(p, 'other');
  const first = (await p.send('DELETE', `/admin/tenants/${acme.id}`, { body })).body as Receipt;
  const { after } = await rotateSigningKey(p);
  assert.equal((await p.send('DELETE', `/admin/tenants/${acme.id}`, { body })).body, first);
  const later = (await p.send('DELETE', `/admin/tenants/${other.id}`, { body })).body as Receipt;
  assert.is(later.key_id, after);
  assert.is(isSigned(later, later.public_key), true);
  await p.close();
});

test('if an erasure was interrupted before the data key was destroyed, repeating the request completes the erasure', async () => {
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

test('erasing a tenant is refused if the tenant does not exist or if the request gives no reason', async () => {
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
