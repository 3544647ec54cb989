import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { deliveryCharge, deliveryPolicy, RATE_LIMIT_POLICIES, requestCharges } from '../../domain/access/rate-limit-policy.ts';

type Caller = Parameters<typeof requestCharges>[1];

const chargesOf = (caller: Caller) => requestCharges(RATE_LIMIT_POLICIES, caller).map(({ policy, key }) => [policy.name, key]);

const user = { kind: 'user', user_id: 'user', key_id: 'key', bound_to: 'tenant', super_admin: false } as const;

test("a request with a tenant's API key counts against two limits: that of the key and that of the tenant", () =>
  assert.equal(chargesOf(user), [
    ['credential', 'key'],
    ['tenant', 'tenant'],
  ]));

test('a request with a runner key counts against two limits: that of the key and that of the tenant', () =>
  assert.equal(chargesOf({ kind: 'runner', agent_id: 'agent', tenant_id: 'tenant', key_id: 'key' }), [
    ['credential', 'key'],
    ['tenant', 'tenant'],
  ]));

test('a request with a platform key counts against the limit of platform keys', () =>
  assert.equal(chargesOf({ ...user, bound_to: null, super_admin: true }), [['platform', 'key']]));

test("a request of a signed-in user counts against the user's limit; a request of a signed-in super-admin counts against the platform limit", () => {
  assert.equal(chargesOf({ ...user, key_id: null, bound_to: null }), [['credential', 'user']]);
  assert.equal(chargesOf({ ...user, key_id: null, bound_to: null, super_admin: true }), [['platform', 'user']]);
});

test("a request with a super-admin's tenant key counts against the limits of the key and the tenant, not against the platform limit", () =>
  assert.equal(chargesOf({ ...user, super_admin: true }), [
    ['credential', 'key'],
    ['tenant', 'tenant'],
  ]));

test('a delivery counts against the quota of its tenant', () =>
  assert.equal(deliveryCharge(deliveryPolicy(60), 'tenant'), {
    policy: { name: 'webhooks', quota: 60, seconds: 60 },
    key: '60 tenant',
  }));

test.run();
