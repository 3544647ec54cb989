import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import * as Access from '../../domain/agents/agent-roles.ts';
import type { GrantRole } from '../../domain/agents/role-permissions.ts';
import { MAX_SORT_KEY } from '../../domain/event.ts';
import type { TenantRole } from '../../domain/tenants/tenant.ts';
import { ACTOR, at, given, ID, TENANT } from '../fixtures/given.ts';

const [A, B, C] = ['ca', 'cb', 'cc'];
const data = {
  ...Agent.defaults,
  name: 'Reviewer',
  slug: 'reviewer',
  generation: 0,
  owner_id: ACTOR,
  skill_visibility_scope: 'private_only',
  is_seed: false,
} as const;
const created: Agent.AgentEvent = { type: 'AgentCreated', data };
const deleted: Agent.AgentEvent = { type: 'AgentDeleted', data: {} };
const released: Agent.AgentEvent = { type: 'AgentSlugReleased', data: {} };
const updated = (fields: Extract<Agent.AgentEvent, { type: 'AgentUpdated' }>['data']): Agent.AgentEvent => ({
  type: 'AgentUpdated',
  data: fields,
});
const chained = (...models: Agent.ChainLink[]): Agent.AgentEvent => ({ type: 'AgentModelChainReordered', data: { models } });
const link = (model_id: string, since: string | null = null): Agent.ChainLink => ({ model_id, access: 'full', since });
const update = (changes: Agent.AgentChanges, mayManageRoles = false) => Agent.update(changes, mayManageRoles);

test('an agent is born active, owned by its creator, in its tenant', () => {
  const { state } = given(Agent, created);
  assert.equal([state.status, state.is_active, state.id, state.tenant_id], ['live', true, ID, TENANT]);
  assert.equal([state.created_by_id, state.created_by_agent_id, state.code_ref, state.repo_url], [ACTOR, null, 'main', null]);
  assert.equal([state.created_at, state.updated_at], [at(0), at(0)]);
  assert.is(state.roles[ACTOR]?.role, 'OWNER');
});

test('an update says only what changed', () => {
  given(Agent, created)
    .when(update({ name: 'Critic', voice: null, resource_class: 'small', description: 'Reads' }))
    .emits(updated({ name: 'Critic', description: 'Reads' }));
});

test('what it has already is not news', () => {
  given(Agent, created).when(update({})).emits();
  given(Agent, created)
    .when(update({ name: 'Reviewer', is_active: true, can_author_skills: false }))
    .emits();
});

test('null clears what may be null, resets what has a default, and leaves the rest', () => {
  const rich = updated({ voice: 'alto', resource_class: 'large', environment_mode: 'isolated', iteration_warn_threshold: 3 });
  given(Agent, created, rich)
    .when(
      update({ voice: null, resource_class: null, environment_mode: null, iteration_warn_threshold: null, name: null, is_active: null }),
    )
    .emits(updated({ voice: null, resource_class: 'small', environment_mode: 'shared', iteration_warn_threshold: null }));
});

test('each kind of change is an event of its own', () => {
  given(Agent, created)
    .when(update({ name: 'Critic', is_active: false, can_author_skills: true, is_admin_only: true }, true))
    .emits(
      updated({ name: 'Critic' }),
      { type: 'AgentDeactivated', data: {} },
      { type: 'AgentSkillAuthoringChanged', data: { can_author_skills: true } },
      { type: 'AgentAdminOnlyChanged', data: { is_admin_only: true } },
    );
  given(Agent, created, { type: 'AgentDeactivated', data: {} })
    .when(update({ is_active: true }))
    .emits({ type: 'AgentActivated', data: {} });
});

test('who may not manage roles may repeat a guarded field, but not change it', () => {
  given(Agent, created)
    .when(update({ name: 'Critic', can_author_skills: false, is_admin_only: null }))
    .emits(updated({ name: 'Critic' }));
  given(Agent, created)
    .when(update({ name: 'Critic', can_author_skills: true }))
    .refuses('forbidden');
  given(Agent, created)
    .when(update({ is_admin_only: true }))
    .refuses('forbidden');
});

test('a chain names its models in order; the first is the primary', () => {
  given(Agent, created)
    .when(Agent.reorderModelChain([A, B]))
    .emits(chained(link(A), link(B)));
});

test('a model that stays keeps its access and since when it is there', () => {
  const before = chained({ model_id: A, access: 'read_only', since: null }, link(B));
  given(Agent, created, before)
    .when(Agent.reorderModelChain([C, A]))
    .emits(chained(link(C), { model_id: A, access: 'read_only', since: at(1) }));
});

test('the order it already has is not news', () =>
  given(Agent, created, chained(link(A), link(B)))
    .when(Agent.reorderModelChain([A, B]))
    .emits());

test('must not contain the same model twice', () =>
  given(Agent, created)
    .when(Agent.reorderModelChain([A, A]))
    .refuses('invalid', '/model_ids'));

test('nothing can be done with an agent that is not there, deleted or released', () => {
  const decisions = [update({ name: 'X' }), Agent.reorderModelChain([A]), Agent.remove, Access.assignRole(ACTOR, 'OWNER', {})];
  for (const decision of decisions)
    for (const events of [[], [created, deleted], [created, deleted, released]])
      given(Agent, ...events)
        .when(decision)
        .refuses('not_found');
});

test('deletion keeps what the agent was; a released slug is told by the state', () => {
  given(Agent, created).when(Agent.remove).emits(deleted);
  assert.is(given(Agent, created, deleted).state.name, 'Reviewer');
  assert.is(given(Agent, created, deleted, released).state.status, 'released');
});

/** A membership that began before any event of the agent, or behind all of them. */
const member = (since: string, role: TenantRole = 'MEMBER'): Access.Members[string] => ({
  role,
  since,
  by: { event_id: `${role} since ${since}`, type: 'MemberAdded', at: at(0) },
});
const [before, behind] = [member(''), member(MAX_SORT_KEY)];
const members = { [ACTOR]: before, [B]: before };

test('the last owner of an agent can be neither revoked nor made less', () => {
  given(Agent, created).when(Access.revokeRole(ACTOR, members)).refuses('conflict');
  given(Agent, created)
    .when(Access.assignRole(ACTOR, 'MANAGER', members))
    .refuses('conflict');
  given(Agent, created, { type: 'AgentRoleAssigned', data: { user_id: B, role: 'OWNER' } })
    .when(Access.revokeRole(ACTOR, members))
    .emits({ type: 'AgentRoleRevoked', data: { user_id: ACTOR } });
});

test('who was an owner in an earlier membership is none now: neither the last one goes nor is a role taken for given', () => {
  const again = { [ACTOR]: before, [B]: behind };
  const revoked: Agent.AgentEvent = { type: 'AgentRoleRevoked', data: { user_id: B } };
  const story = given(Agent, created, { type: 'AgentRoleAssigned', data: { user_id: B, role: 'OWNER' } });
  story.when(Access.revokeRole(ACTOR, again)).refuses('conflict');
  story.when(Access.assignRole(B, 'OWNER', again)).emits(revoked, { type: 'AgentRoleAssigned', data: { user_id: B, role: 'OWNER' } });
  story.when(Access.revokeRole(B, again)).refuses('not_found');
  story
    .when(Access.transferOwnership(A, { ...again, [A]: before }))
    .emits({ type: 'AgentOwnershipTransferred', data: { new_owner_id: A, old_owner_ids: [ACTOR] } });
});

test('an agent whose owners have all left is owned by the OWNERs of its tenant, until it is given to somebody', () => {
  const { state, ...story } = given(Agent, created, { type: 'AgentRoleAssigned', data: { user_id: B, role: 'MANAGER' } });
  const heirs = { [A]: member('', 'OWNER'), [B]: before, [C]: member('', 'OWNER') };
  assert.equal(Access.ownersOf(state, { ...heirs, [ACTOR]: before }), [ACTOR]);
  assert.equal(Access.ownersOf(state, heirs), [A, C]);
  assert.equal(Access.ownersOf(state, { ...heirs, [ACTOR]: behind }), [A, C]);
  assert.equal(Object.keys(Access.rolesOf(state, heirs)), [B, A, C]);
  for (const decision of [Access.revokeRole(A, heirs), Access.assignRole(A, 'VIEWER', heirs)]) story.when(decision).refuses('conflict');
  story.when(Access.revokeRole(B, heirs)).emits({ type: 'AgentRoleRevoked', data: { user_id: B } });
  story.when(Access.assignRole(A, 'OWNER', heirs)).emits({ type: 'AgentRoleAssigned', data: { user_id: A, role: 'OWNER' } });
  story.when(Access.transferOwnership(A, heirs)).emits({ type: 'AgentOwnershipTransferred', data: { new_owner_id: A, old_owner_ids: [] } });
});

test('a grant of an earlier membership is none now: it is given anew, and there is nothing to revoke', () => {
  const granted = (role: GrantRole): Agent.AgentEvent => ({ type: 'AgentAccessGranted', data: { user_id: B, role } });
  const revoked: Agent.AgentEvent = { type: 'AgentAccessRevoked', data: { user_id: B } };
  const again = { [B]: behind };
  const story = given(Agent, created, granted('VIEWER'));
  story.when(Access.grant(B, 'EDITOR', members)).emits(granted('EDITOR'));
  for (const role of ['VIEWER', 'EDITOR'] as const) story.when(Access.grant(B, role, again)).emits(revoked, granted(role));
  story.when(Access.revokeGrant(B, again)).refuses('not_found');
  story.when(Access.revokeGrant(B, {})).refuses('not_found');
  story.when(Access.revokeGrant(B, members)).emits(revoked);
});

test('every event moves the time of the last change', () =>
  assert.is(given(Agent, created, updated({ name: 'Critic' })).state.updated_at, at(1)));

test.run();
