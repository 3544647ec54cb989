import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import * as AgentModels from '../../domain/agents/agent-models.ts';
import * as AgentRoles from '../../domain/agents/agent-roles.ts';
import * as AgentSettings from '../../domain/agents/agent-settings.ts';
import type { GrantRole } from '../../domain/agents/role-permissions.ts';
import { MAX_SORT_KEY } from '../../domain/event.ts';
import type { TenantRole } from '../../domain/tenants/tenant-role.ts';
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
const update = (changes: AgentSettings.AgentChanges, mayManageRoles = false) => AgentSettings.update(changes, mayManageRoles);

test('a new agent is active, and its creator is its owner', () => {
  const { state } = given(Agent, created);
  assert.equal([state.status, state.is_active, state.id, state.tenant_id], ['live', true, ID, TENANT]);
  assert.equal([state.created_by_id, state.created_by_agent_id, state.code_ref, state.repo_url], [ACTOR, null, 'main', null]);
  assert.equal([state.created_at, state.updated_at], [at(0), at(0)]);
  assert.is(state.roles[ACTOR]?.role, 'OWNER');
});

test('an update event contains only the changed fields', () => {
  given(Agent, created)
    .when(update({ name: 'Critic', voice: null, resource_class: 'small', description: 'Reads' }))
    .emits(updated({ name: 'Critic', description: 'Reads' }));
});

test('an update without changes emits no event', () => {
  given(Agent, created).when(update({})).emits();
  given(Agent, created)
    .when(update({ name: 'Reviewer', is_active: true, can_author_skills: false }))
    .emits();
});

test('an update with null clears nullable fields and resets fields that have a default; absent fields do not change', () => {
  const customized = updated({ voice: 'alto', resource_class: 'large', environment_mode: 'isolated', iteration_warn_threshold: 3 });
  given(Agent, created, customized)
    .when(
      update({ voice: null, resource_class: null, environment_mode: null, iteration_warn_threshold: null, name: null, is_active: null }),
    )
    .emits(updated({ voice: null, resource_class: 'small', environment_mode: 'shared', iteration_warn_threshold: null }));
});

test('a change of settings, activation, skill authoring or admin-only access each has its own event type', () => {
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

test('without agent:roles:write, an update may repeat can_author_skills and is_admin_only, but not change them', () => {
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

test('the event of a reordered model chain contains the models in the new order', () => {
  given(Agent, created)
    .when(AgentModels.reorderModelChain([A, B]))
    .emits(chained(link(A), link(B)));
});

test('a model that is in the model chain before and after a reordering keeps its access level and the date on which it was added', () => {
  const before = chained({ model_id: A, access: 'read_only', since: null }, link(B));
  given(Agent, created, before)
    .when(AgentModels.reorderModelChain([C, A]))
    .emits(chained(link(C), { model_id: A, access: 'read_only', since: at(1) }));
});

test('reordering a model chain to its current order emits no event', () =>
  given(Agent, created, chained(link(A), link(B)))
    .when(AgentModels.reorderModelChain([A, B]))
    .emits());

test('setting a model chain that contains the same model twice is refused', () =>
  given(Agent, created)
    .when(AgentModels.reorderModelChain([A, A]))
    .refuses('invalid', '/model_ids'));

test('every decision refuses an agent that is absent, is deleted, or has released its slug', () => {
  const decisions = [update({ name: 'X' }), AgentModels.reorderModelChain([A]), Agent.remove, AgentRoles.assignRole(ACTOR, 'OWNER', {})];
  for (const decision of decisions)
    for (const events of [[], [created, deleted], [created, deleted, released]])
      given(Agent, ...events)
        .when(decision)
        .refuses('not_found');
});

test('a deleted agent keeps its fields; when its slug is released, its status becomes released', () => {
  given(Agent, created).when(Agent.remove).emits(deleted);
  assert.is(given(Agent, created, deleted).state.name, 'Reviewer');
  assert.is(given(Agent, created, deleted, released).state.status, 'released');
});

/** Returns a membership that began at the event with the sort key `since`. */
const member = (since: string, role: TenantRole = 'MEMBER'): AgentRoles.Members[string] => ({
  role,
  since,
  by: { event_id: `${role} since ${since}`, type: 'MemberAdded', at: at(0) },
});
/**
 * `earlier` is a membership that began before all events of the agent, and `later` one that began after all of them.
 */
const [earlier, later] = [member(''), member(MAX_SORT_KEY)];
const members = { [ACTOR]: earlier, [B]: earlier };

test('removing the role of the last OWNER of an agent, or changing it to another role, is refused', () => {
  given(Agent, created).when(AgentRoles.revokeRole(ACTOR, members)).refuses('conflict');
  given(Agent, created)
    .when(AgentRoles.assignRole(ACTOR, 'MANAGER', members))
    .refuses('conflict');
  given(Agent, created, { type: 'AgentRoleAssigned', data: { user_id: B, role: 'OWNER' } })
    .when(AgentRoles.revokeRole(ACTOR, members))
    .emits({ type: 'AgentRoleRevoked', data: { user_id: ACTOR } });
});

test('a user who leaves and rejoins the tenant is no longer OWNER of the agent, and can be made OWNER again', () => {
  const rejoined = { [ACTOR]: earlier, [B]: later };
  const revoked: Agent.AgentEvent = { type: 'AgentRoleRevoked', data: { user_id: B } };
  const story = given(Agent, created, { type: 'AgentRoleAssigned', data: { user_id: B, role: 'OWNER' } });
  story.when(AgentRoles.revokeRole(ACTOR, rejoined)).refuses('conflict');
  story
    .when(AgentRoles.assignRole(B, 'OWNER', rejoined))
    .emits(revoked, { type: 'AgentRoleAssigned', data: { user_id: B, role: 'OWNER' } });
  story.when(AgentRoles.revokeRole(B, rejoined)).refuses('not_found');
  story
    .when(AgentRoles.transferOwnership(A, { ...rejoined, [A]: earlier }))
    .emits({ type: 'AgentOwnershipTransferred', data: { new_owner_id: A, old_owner_ids: [ACTOR] } });
});

test('if all owners of an agent have left the tenant, the OWNERs of the tenant count as owners of the agent until it gets a new OWNER', () => {
  const { state, ...story } = given(Agent, created, { type: 'AgentRoleAssigned', data: { user_id: B, role: 'MANAGER' } });
  const heirs = { [A]: member('', 'OWNER'), [B]: earlier, [C]: member('', 'OWNER') };
  assert.equal(AgentRoles.ownersOf(state, { ...heirs, [ACTOR]: earlier }), [ACTOR]);
  assert.equal(AgentRoles.ownersOf(state, heirs), [A, C]);
  assert.equal(AgentRoles.ownersOf(state, { ...heirs, [ACTOR]: later }), [A, C]);
  assert.equal(Object.keys(AgentRoles.rolesOf(state, heirs)), [B, A, C]);
  for (const decision of [AgentRoles.revokeRole(A, heirs), AgentRoles.assignRole(A, 'VIEWER', heirs)])
    story.when(decision).refuses('conflict');
  story.when(AgentRoles.revokeRole(B, heirs)).emits({ type: 'AgentRoleRevoked', data: { user_id: B } });
  story.when(AgentRoles.assignRole(A, 'OWNER', heirs)).emits({ type: 'AgentRoleAssigned', data: { user_id: A, role: 'OWNER' } });
  story
    .when(AgentRoles.transferOwnership(A, heirs))
    .emits({ type: 'AgentOwnershipTransferred', data: { new_owner_id: A, old_owner_ids: [] } });
});

test('a grant from before a user left the tenant has no effect after the user has rejoined', () => {
  const granted = (role: GrantRole): Agent.AgentEvent => ({ type: 'AgentAccessGranted', data: { user_id: B, role } });
  const revoked: Agent.AgentEvent = { type: 'AgentAccessRevoked', data: { user_id: B } };
  const rejoined = { [B]: later };
  const story = given(Agent, created, granted('VIEWER'));
  story.when(AgentRoles.grant(B, 'EDITOR', members)).emits(granted('EDITOR'));
  for (const role of ['VIEWER', 'EDITOR'] as const) story.when(AgentRoles.grant(B, role, rejoined)).emits(revoked, granted(role));
  story.when(AgentRoles.revokeGrant(B, rejoined)).refuses('not_found');
  story.when(AgentRoles.revokeGrant(B, {})).refuses('not_found');
  story.when(AgentRoles.revokeGrant(B, members)).emits(revoked);
});

test("after an update, an agent's updated_at is the time of the update's event", () =>
  assert.is(given(Agent, created, updated({ name: 'Critic' })).state.updated_at, at(1)));

test.run();
