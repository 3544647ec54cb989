import fc from 'fast-check';
import * as Agent from '../../domain/agents/agent.ts';
import * as Credentials from '../../domain/agents/agent-credentials.ts';
import * as Models from '../../domain/agents/agent-models.ts';
import { restore, undelete } from '../../domain/agents/agent-restore.ts';
import * as Roles from '../../domain/agents/agent-roles.ts';
import * as Settings from '../../domain/agents/agent-settings.ts';
import * as Tools from '../../domain/agents/agent-tools.ts';
import * as CodeRef from '../../domain/agents/code-ref.ts';
import { takeCredentials } from '../../domain/agents/credential-grants.ts';
import * as FailoverGraph from '../../domain/agents/failover-graph.ts';
import * as Model from '../../domain/agents/model.ts';
import { ENVIRONMENT_MODES } from '../../domain/agents/plain-settings.ts';
import { AGENT_ROLES, GRANT_ROLES } from '../../domain/agents/role-permissions.ts';
import { sortKey } from '../../domain/event.ts';
import * as Skills from '../../domain/skills/agent-skills.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { given } from '../fixtures/given.ts';
import { NOW, repeated } from '../fixtures/repeated-decisions.ts';

const by = { event_id: 'event', type: 'MemberAdded', at: NOW };
/** The members of the tenant. All of them joined it before the first event of the agent. */
const members: Roles.Members = Object.fromEntries(['u1', 'u2', 'u3'].map((id) => [id, { role: 'MEMBER', since: '', by }]));
const user = fc.constantFrom('u1', 'u2', 'u3');
const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
const flag = fc.boolean();
const URL = 'https://example.com/repo.git';
const word = fc.constantFrom('one', 'two');
const nullable = <T>(some: fc.Arbitrary<T>) => fc.option(fc.option(some, { nil: null }), { nil: undefined });

const created: Agent.AgentEvent = {
  type: 'AgentCreated',
  data: { ...Agent.defaults, name: 'A', slug: 'a', generation: 0, owner_id: 'u1', skill_visibility_scope: 'private_only', is_seed: false },
};
const chained: Agent.AgentEvent = {
  type: 'AgentModelGranted',
  data: { model_id: 'a', models: [{ model_id: 'a', access: 'read_only', since: NOW }] },
};
const earlier = [given(Agent, created).state, given(Agent, created, { type: 'AgentUpdated', data: { voice: 'v' } }, chained).state];

const changes = fc.record({
  name: nullable(word),
  description: nullable(word),
  resource_class: nullable(word),
  environment_mode: nullable(fc.constantFrom(...ENVIRONMENT_MODES)),
  is_active: nullable(flag),
  is_admin_only: nullable(flag),
  can_author_skills: nullable(flag),
});
const permission = fc.record({ skill_id: id, action: fc.constant('use' as const), allowed: flag });

const agent = repeated(Agent, [created], {
  'agents/agent-settings.ts update': changes.map((some) => Settings.update(some as Settings.AgentChanges, true)),
  'agents/agent-settings.ts changeSkillVisibility': fc.constantFrom(...Agent.SKILL_VISIBILITY_SCOPES).map(Settings.changeSkillVisibility),
  'agents/agent-settings.ts changeBudget': fc.option(fc.nat(2)).map((micros) => Settings.changeBudget({ hourly_limit_micros: micros })),
  'agents/code-ref.ts linkRepo': fc.constantFrom(CodeRef.NO_REPO, { repo_url: URL, code_ref: 'one' }).map(CodeRef.linkRepo),
  'agents/code-ref.ts pinCodeRef': word.map((ref) => CodeRef.pinCodeRef(URL, ref)),
  'agents/agent-models.ts reorderModelChain': fc.uniqueArray(id, { minLength: 1, maxLength: 5 }).map(Models.reorderModelChain),
  'agents/agent-models.ts grantModel': fc
    .tuple(id, fc.constantFrom('full' as const, 'read_only' as const), fc.nat(4))
    .map(([model, access, priority]) => Models.grantModel(model, access, priority)),
  'agents/agent-models.ts revokeModel': id.map(Models.revokeModel),
  'agents/agent-restore.ts restore': fc.constantFrom(...earlier).map((then) => restore(then, 1)),
});
const access = repeated(Agent, [created], {
  'agents/agent-roles.ts assignRole': fc
    .tuple(user, fc.constantFrom(...AGENT_ROLES))
    .map(([user_id, role]) => Roles.assignRole(user_id, role, members)),
  'agents/agent-roles.ts revokeRole': user.map((user_id) => Roles.revokeRole(user_id, members)),
  'agents/agent-roles.ts grant': fc
    .tuple(user, fc.constantFrom(...GRANT_ROLES))
    .map(([user_id, role]) => Roles.grant(user_id, role, members)),
  'agents/agent-roles.ts revokeGrant': user.map((user_id) => Roles.revokeGrant(user_id, members)),
  'agents/agent-roles.ts transferOwnership': user.map((user_id) => Roles.transferOwnership(user_id, members)),
});
const granted = repeated(Agent, [created], {
  'agents/agent-tools.ts grantTool': fc
    .record({ tool_id: id, is_enabled: flag, configuration: fc.constantFrom({}, { dry_run: true }) })
    .map(Tools.grantTool),
  'agents/agent-tools.ts revokeTool': id.map(Tools.revokeTool),
  'agents/agent-credentials.ts giveCredential': fc
    .record({ identity_id: id, credential_label: word, identity_revision: fc.constantFrom(0, 3) })
    .map((gift) => Credentials.giveCredential(gift)),
  'agents/agent-credentials.ts takeCredential': id.map(Credentials.takeCredential),
  'agents/credential-grants.ts takeCredentials': id.map((one) => (agent: Agent.Agent) => takeCredentials(agent, [one])),
  'skills/agent-skills.ts grantSkill': fc.tuple(id, flag).map(([skill_id, is_enabled]) => Skills.grantSkill(skill_id, is_enabled)),
  'skills/agent-skills.ts revokeSkill': id.map(Skills.revokeSkill),
  'skills/agent-skills.ts replacePermissions': fc
    .uniqueArray(permission, { selector: ({ skill_id }) => skill_id })
    .map(Skills.replacePermissions),
});
const removed = repeated(Agent, [created], {
  'agents/agent.ts remove': fc.constant(Agent.remove),
  'agents/agent-restore.ts undelete': fc.constant((deleted: Agent.Agent) => undelete(deleted, members, 'u1')),
});

const configured: Agent.AgentEvent[] = [
  created,
  { type: 'AgentSkillGranted', data: { skill_id: 'a', is_enabled: true } },
  { type: 'AgentSkillConfigReplaced', data: { skill_id: 'a', sealed_config: 'sealed' } },
];
const config = repeated(Agent, configured, { 'skills/agent-skills.ts clearConfig': fc.constant(Skills.clearConfig('a')) });

/**
 * The members after u1 has left the tenant and joined it again. The role and the grant that u1 had on the agent before
 * no longer have an effect.
 */
const rejoined: Roles.Members = { ...members, u1: { role: 'MEMBER', since: sortKey({ commit: 9n, prepare: 9n }), by } };
const lapsed = repeated(Agent, [created], {
  'agents/agent-roles.ts revokeLapsedRole': fc.constant((then: Agent.Agent) => Roles.revokeLapsedRole(then, rejoined, 'u1')),
});

const fields: Parameters<typeof Model.register>[0] = {
  ...{ provider: 'p', slug: 's', name: 'M', available_to_all_tenants: true, config: {}, description: null, failover_chain: [] },
  ...{ is_free: false, pricing: {} },
  status: 'active',
};
const tenant = fc.constantFrom('t1', 't2');
const model = repeated(Model, [], {
  'agents/model.ts register': fc.constant(Model.register(fields)),
  'agents/model.ts update': fc
    .record({
      name: nullable(word),
      is_free: nullable(flag),
      config: nullable(fc.constantFrom({}, { a: 1 })),
      status: nullable(fc.constantFrom(...Model.MODEL_STATUSES)),
    })
    .map((some) => Model.update(some as Model.ModelChanges)),
  'agents/model.ts openToTenant': tenant.map(Model.openToTenant),
  'agents/model.ts closeToTenant': tenant.map(Model.closeToTenant),
});

const failover = repeated(FailoverGraph, [], {
  'agents/failover-graph.ts checkChain': fc
    .tuple(id, fc.uniqueArray(id, { maxLength: 3 }))
    .map(([model_id, chain]) => FailoverGraph.checkChain(model_id, chain, {})),
});

const decisions: AreaCases['decisions'] = [agent, access, granted, removed, config, lapsed, model, failover];

export const cases: AreaCases = { decisions };
