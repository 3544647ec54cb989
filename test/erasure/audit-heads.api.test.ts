import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as AuditHead from '../../domain/audit/audit-head.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { recordErased, recordKeyDestroyed, startErasure } from '../../domain/tenants/tenant-erasure.ts';
import { signAuditHeads } from '../fixtures/sign-audit-heads.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';

test('after the erasure of a tenant is recorded, no further head of its audit log is signed; its earlier signed heads and the heads of other tenants stay', async () => {
  const p = await createTestPlatform();
  const [acme, other] = [await createSecondTenant(p, 'acme'), await createSecondTenant(p, 'other')];
  const transact = p.systemContext(acme.id).transact;
  const sign = async (): Promise<number[]> => {
    await p.waitForProjections();
    return [await signAuditHeads(p, [acme.id]), await signAuditHeads(p, [other.id])];
  };
  assert.equal(await sign(), [1, 1]);
  await transact(Tenant, acme.id, startErasure('a test'));
  assert.equal(await sign(), [1, 0], 'the start of the erasure is covered by a head');
  await transact(Tenant, acme.id, recordKeyDestroyed('2026-11-23T09:00:00.000Z'));
  await p.waitForProjections();
  await transact(Tenant, acme.id, recordErased({ streams: 1, events: 1 }, 'key'));
  const { status } = await p.send('PATCH', other.tenant, { key: other.key, body: { name: 'Another' } });
  assert.is(status, 200);
  assert.equal(await sign(), [0, 1]);
  const heads = p.log.events.filter(({ category, tenant }) => category === AuditHead.category && tenant === acme.id);
  assert.is(heads.length, 2);
  await p.close();
});

test.run();
