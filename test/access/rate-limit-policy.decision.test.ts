import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { deliveryCharge, deliveryPolicy, RATE_LIMIT_POLICIES, requestCharges } from '../../domain/access/rate-limit-policy.ts';

type Caller = Parameters<typeof requestCharges>[1];

const chargesOf = (caller: Caller) => requestCharges(RATE_LIMIT_POLICIES, caller).map(({ policy, key }) => [policy.name, key]);

const user = { kind: 'user', user_id: 'user', key_id: 'key', bound_to: 'tenant', super_admin: false } as const;

test('a tenant key is charged to the key and to the tenant', () =>
  assert.equal(chargesOf(user), [
    ['credential', 'key'],
    ['tenant', 'tenant'],
  ]));

test('a runner key is charged to the key and to the tenant', () =>
  assert.equal(chargesOf({ kind: 'runner', agent_id: 'agent', tenant_id: 'tenant', key_id: 'key' }), [
    ['credential', 'key'],
    ['tenant', 'tenant'],
  ]));

test('a platform key is charged to the platform limit', () =>
  assert.equal(chargesOf({ ...user, bound_to: null, super_admin: true }), [['platform', 'key']]));

test('a signed-in user is charged like one API key, and a super-admin to the platform limit', () => {
  assert.equal(chargesOf({ ...user, key_id: null, bound_to: null }), [['credential', 'user']]);
  assert.equal(chargesOf({ ...user, key_id: null, bound_to: null, super_admin: true }), [['platform', 'user']]);
});

test("a super-admin's tenant key is charged to the tenant, not to the platform limit", () =>
  assert.equal(chargesOf({ ...user, super_admin: true }), [
    ['credential', 'key'],
    ['tenant', 'tenant'],
  ]));

test('a delivery is charged to its tenant and quota', () =>
  assert.equal(deliveryCharge(deliveryPolicy(60), 'tenant'), {
    policy: { name: 'webhooks', quota: 60, seconds: 60 },
    key: '60 tenant',
  }));

test.run();
