import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Member from '../domain/member.ts';
import * as Tenant from '../domain/tenant.ts';
import { ACTOR, at, given, ID } from './given.ts';

const fields = { name: 'Acme', slug: 'acme', plan_id: 'cplan', billing_email: null, generation: 0 };
const created: Tenant.TenantEvent = { type: 'TenantCreated', data: fields };
const joined = (user_id: string, role: Tenant.TenantRole): Tenant.TenantEvent => ({ type: 'MemberAdded', data: { user_id, role } });
const story = [created, joined(ACTOR, 'OWNER')] as const;

test('a tenant begins active, with its owner as its only member', () => {
  given(Tenant)
    .when(Tenant.create(fields, ACTOR))
    .emits(...story);
  const { state } = given(Tenant, ...story);
  assert.equal([state.id, state.status, state.is_suspended, state.created_at], [ID, 'active', false, at(0)]);
  assert.equal(Object.keys(state.members), [ACTOR]);
  assert.equal([state.members[ACTOR]?.role, state.members[ACTOR]?.created_at], ['OWNER', at(1)]);
  assert.equal([state.allow_superadmin_access, state.external_mail_enabled, state.paid], [true, false, false]);
});

test('a slug belongs to one tenant, for good', () => {
  given(Tenant, ...story)
    .when(Tenant.create(fields, ACTOR))
    .refuses('slug_taken');
  given(Tenant, ...story, { type: 'TenantClosed', data: {} })
    .when(Tenant.create(fields, ACTOR))
    .refuses('slug_taken');
});

test('a member who is removed holds nothing, and a role can be changed', () => {
  const two = [...story, joined('cb', 'MEMBER')] as const;
  given(Tenant, ...two)
    .when(Member.changeRole('cb', 'ADMIN', 'OWNER'))
    .emits({ type: 'MemberRoleChanged', data: { user_id: 'cb', role: 'ADMIN' } });
  given(Tenant, ...two)
    .when(Member.remove('cb', 'ADMIN'))
    .emits({ type: 'MemberRemoved', data: { user_id: 'cb' } });
  assert.not('cb' in given(Tenant, ...two, { type: 'MemberRemoved', data: { user_id: 'cb' } }).state.members);
});

test('a tenant always has an owner, and only owners touch owners', () => {
  given(Tenant, ...story)
    .when(Member.remove(ACTOR, 'OWNER'))
    .refuses('conflict');
  given(Tenant, ...story)
    .when(Member.remove(ACTOR, 'ADMIN'))
    .refuses('forbidden');
  given(Tenant, ...story)
    .when(Member.add('cb', 'OWNER', 'ADMIN'))
    .refuses('forbidden');
});

test('being suspended and resumed twice is not news', () => {
  const suspended: Tenant.TenantEvent = { type: 'TenantSuspended', data: { reason: 'unpaid' } };
  given(Tenant, ...story)
    .when(Tenant.suspend('unpaid'))
    .emits(suspended);
  given(Tenant, ...story, suspended)
    .when(Tenant.suspend('unpaid'))
    .emits();
  given(Tenant, ...story)
    .when(Tenant.resume('paid'))
    .emits();
  assert.is(given(Tenant, ...story, suspended).state.status, 'suspended');
});

test.run();
