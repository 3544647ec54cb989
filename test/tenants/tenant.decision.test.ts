import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Member from '../../domain/tenants/member.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { TenantRole } from '../../domain/tenants/tenant-role.ts';
import { ACTOR, at, given, ID } from '../fixtures/given.ts';

const fields = { name: 'Acme', slug: 'acme', plan_id: 'cplan', billing_email: null, generation: 0 };
const created: Tenant.TenantEvent = { type: 'TenantCreated', data: fields };
const joined = (user_id: string, role: TenantRole): Tenant.TenantEvent => ({ type: 'MemberAdded', data: { user_id, role } });
const story = [created, joined(ACTOR, 'OWNER')] as const;

test('a new tenant is active, and its owner is the only member', () => {
  given(Tenant)
    .when(Tenant.create(fields, ACTOR))
    .emits(...story);
  const { state } = given(Tenant, ...story);
  assert.equal([state.id, state.status, state.is_suspended, state.created_at], [ID, 'active', false, at(0)]);
  assert.equal(Object.keys(state.members), [ACTOR]);
  assert.equal([state.members[ACTOR]?.role, state.members[ACTOR]?.created_at], ['OWNER', at(1)]);
  assert.equal([state.allow_superadmin_access, state.external_mail_enabled, state.paid], [true, false, false]);
});

const closing: Tenant.TenantEvent = { type: 'TenantClosing', data: { reason: 'moved', closes_at: '2026-02-01T00:00:00.000Z' } };
const closed: Tenant.TenantEvent = { type: 'TenantClosed', data: {} };

test("a tenant's slug is reserved until the tenant is closed for good", () => {
  for (const events of [story, [...story, closing]])
    given(Tenant, ...events)
      .when(Tenant.create(fields, ACTOR))
      .refuses('slug_taken');
  given(Tenant, ...story, closing, closed)
    .when(Tenant.create(fields, ACTOR))
    .emits();
});

test('a closing tenant can be closed for good once, from the time closes_at on and not a millisecond earlier', () => {
  const at = (time: string) => Tenant.closeForGood(time);
  given(Tenant, ...story, closing)
    .when(at('2026-01-31T23:59:59.999Z'))
    .emits();
  given(Tenant, ...story, closing)
    .when(at('2026-02-01T00:00:00.000Z'))
    .emits(closed);
  given(Tenant, ...story, closing, closed)
    .when(at('2027-01-01T00:00:00.000Z'))
    .emits();
  for (const events of [[], story, [...story, closing, { type: 'TenantReopened', data: { reason: 'stays' } } as const]])
    given(Tenant, ...events)
      .when(at('2027-01-01T00:00:00.000Z'))
      .emits();
});

test('if a tenant is reopened and then closed again, a new waiting period starts', () => {
  const closingAgain: Tenant.TenantEvent = { type: 'TenantClosing', data: { reason: 'moved', closes_at: '2026-03-01T00:00:00.000Z' } };
  given(Tenant, ...story, closing, { type: 'TenantReopened', data: { reason: 'stays' } }, closingAgain)
    .when(Tenant.closeForGood('2026-02-15T00:00:00.000Z'))
    .emits();
});

test('reopening or changing a tenant that is closed for good is refused', () => {
  for (const decision of [
    Tenant.reopen('stays'),
    Tenant.suspend('unpaid'),
    Tenant.close('moved', ''),
    Tenant.changeSettings({ name: 'B' }),
  ])
    given(Tenant, ...story, closing, closed)
      .when(decision)
      .refuses('not_found');
});

test('the role of a member can be changed; a member who was removed has no role', () => {
  const two = [...story, joined('cb', 'MEMBER')] as const;
  given(Tenant, ...two)
    .when(Member.changeRole('cb', 'ADMIN', 'OWNER'))
    .emits({ type: 'MemberRoleChanged', data: { user_id: 'cb', role: 'ADMIN' } });
  given(Tenant, ...two)
    .when(Member.remove('cb', 'ADMIN'))
    .emits({ type: 'MemberRemoved', data: { user_id: 'cb' } });
  assert.not('cb' in given(Tenant, ...two, { type: 'MemberRemoved', data: { user_id: 'cb' } }).state.members);
});

test('removing the last OWNER of a tenant is refused, and only an OWNER may change OWNERs', () => {
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

test('suspending a suspended tenant, or resuming an active one, emits no event', () => {
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

const setByPlatform = (external_mail_enabled: boolean): Tenant.TenantEvent => ({
  type: 'TenantUpdated',
  data: { external_mail_enabled, reason: null },
});
const setByTenant = (external_mail_enabled: boolean): Tenant.TenantEvent => ({
  type: 'TenantSettingsChanged',
  data: { external_mail_enabled },
});

test('the platform can switch external mail off, whatever the setting of the tenant is; after that, switching it on is refused for the tenant', () => {
  const switchOff = Tenant.update({ external_mail_enabled: false }, null);
  const enableByTenant = Tenant.changeSettings({ external_mail_enabled: true });
  for (const before of [
    [],
    [setByTenant(true)],
    [setByTenant(true), setByTenant(false)],
    [setByPlatform(true)],
    [setByPlatform(false), setByPlatform(true)],
  ]) {
    const undecided = given(Tenant, ...story, ...before);
    undecided.when(switchOff).emits(setByPlatform(false));
    const switchedOff = given(Tenant, ...story, ...before, setByPlatform(false));
    assert.is(switchedOff.state.external_mail_enabled, false);
    switchedOff.when(switchOff).emits();
    switchedOff.when(enableByTenant).refuses('conflict');
    switchedOff.when(Tenant.changeSettings({ external_mail_enabled: false })).emits();
    switchedOff.when(Tenant.update({ external_mail_enabled: true }, null)).emits(setByPlatform(true));
    given(Tenant, ...story, ...before, setByPlatform(false), setByPlatform(true), setByTenant(false))
      .when(enableByTenant)
      .emits(setByTenant(true));
  }
});

test('a platform update of a tenant that changes nothing emits no event', () => {
  const switchOn = Tenant.update({ external_mail_enabled: true }, null);
  for (const event of [setByPlatform(true), setByTenant(true)])
    given(Tenant, ...story, event)
      .when(switchOn)
      .emits();
  given(Tenant, ...story)
    .when(Tenant.update({ name: 'Acme', paid: false }, 'nothing'))
    .emits();
});

test.run();
