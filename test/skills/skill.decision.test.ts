import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import {
  clearConfig,
  grantSkill,
  MAX_SKILLS,
  mayUse,
  replaceConfig,
  replacePermissions,
  revokeSkill,
} from '../../domain/skills/agent-skills.ts';
import * as Skill from '../../domain/skills/skill.ts';
import { at, given } from '../fixtures/given.ts';

const fields: Skill.SkillFields = {
  name: 'Skill',
  slug: 'skill',
  description: 'A skill',
  visibility: 'private',
  instructions: 'Do it',
  config_schema: null,
};
const digest = Skill.digestOf(fields);
const created: Skill.SkillEvent = { type: 'SkillCreated', data: { ...fields, digest, generation: 0 } };
const deleted: Skill.SkillEvent = { type: 'SkillDeleted', data: {} };

test("a new skill's event has content and digest; its slug may be that of a deleted skill, but of no existing one", () => {
  given(Skill)
    .when(Skill.claim({ type: 'SkillCreated', data: fields }, 0))
    .emits(created);
  given(Skill, created)
    .when(Skill.claim({ type: 'SkillCreated', data: fields }, 0))
    .refuses('slug_taken', '/slug');
  given(Skill, created, deleted)
    .when(Skill.claim({ type: 'SkillCreated', data: fields }, 0))
    .emits();
});

test('changing the content of a skill increases its version and changes its digest; changing the visibility does neither', () => {
  const next = Skill.digestOf({ ...fields, instructions: 'Do more' });
  const updated: Skill.SkillEvent = { type: 'SkillUpdated', data: { instructions: 'Do more', version: 2, digest: next } };
  given(Skill, created)
    .when(Skill.update({ instructions: 'Do more' }))
    .emits(updated);
  given(Skill, created, updated)
    .when(Skill.update({ instructions: 'Do it' }))
    .emits({ type: 'SkillUpdated', data: { instructions: 'Do it', version: 3, digest } });
  given(Skill, created)
    .when(Skill.update({ visibility: 'public' }))
    .emits({ type: 'SkillUpdated', data: { visibility: 'public' } });
  given(Skill, created)
    .when(Skill.update({ name: 'Skill', visibility: null, instructions: null }))
    .emits();
});

test('changing any field of the content changes the digest of a skill', () => {
  const changes = { name: 'x', description: 'x', instructions: 'x', config_schema: {}, package_digest: 'x' };
  const digests = Object.entries(changes).map(([name, value]) => Skill.digestOf({ ...fields, [name]: value }));
  assert.is(new Set([digest, ...digests]).size, 6);
});

test('updating or deleting a skill that is already deleted is refused', () => {
  given(Skill, created).when(Skill.remove).emits(deleted);
  given(Skill, created, deleted).when(Skill.remove).refuses('not_found');
  given(Skill, created, deleted)
    .when(Skill.update({ name: 'x' }))
    .refuses('not_found');
});

test('a private skill is visible to its author agent and to callers who may see all skills; a deleted skill is visible to nobody', () => {
  const authored = given(Skill, { type: 'SkillAuthored', data: { ...fields, author_agent_id: 'one', digest, generation: 0 } }).state;
  const isVisible = (state: Skill.Skill) => [
    Skill.isVisible(state, { seesAll: true }),
    Skill.isVisible(state, { seesAll: false }),
    Skill.isVisible(state, { seesAll: false, agent_id: 'one' }),
    Skill.isVisible(state, { seesAll: false, agent_id: 'two' }),
  ];
  assert.equal(isVisible(authored), [true, false, true, false]);
  assert.equal(isVisible({ ...authored, visibility: 'public' }), [true, true, true, true]);
  assert.equal(isVisible({ ...authored, status: 'deleted' }), [false, false, false, false]);
  assert.equal(isVisible({ ...authored, author_agent_id: null }), [true, false, false, false]);
});

const agent: Agent.AgentEvent = {
  type: 'AgentCreated',
  data: { ...Agent.defaults, name: 'A', slug: 'a', generation: 0, owner_id: null, skill_visibility_scope: 'private_only', is_seed: false },
};
const granted = (skill_id: string, is_enabled = true): Agent.AgentEvent => ({ type: 'AgentSkillGranted', data: { skill_id, is_enabled } });

test('granting a skill again changes only whether it is enabled, and keeps its date and configuration; without a change, no event is emitted', () => {
  const sealed: Agent.AgentEvent = { type: 'AgentSkillConfigReplaced', data: { skill_id: 's', sealed_config: 'x' } };
  given(Agent, agent, granted('s')).when(grantSkill('s', true)).emits();
  given(Agent, agent, granted('s')).when(grantSkill('s', false)).emits(granted('s', false));
  const { state } = given(Agent, agent, granted('s'), sealed, granted('s', false));
  assert.equal(state.skills, { s: { is_enabled: false, created_at: at(1), config: { revision: 2, at: at(2) } } });
});

test('granting an agent more than 500 skills is refused', () => {
  const full = Array.from({ length: MAX_SKILLS }, (_, index) => granted(`s${index}`));
  given(Agent, agent, ...full)
    .when(grantSkill('more', true))
    .refuses('conflict');
  given(Agent, agent, ...full)
    .when(grantSkill('s0', false))
    .emits(granted('s0', false));
  given(Agent, agent, ...full.slice(1))
    .when(grantSkill('more', true))
    .emits(granted('more'));
});

test('revoking a skill also removes its configuration; revoking or configuring a skill that the agent does not have is refused', () => {
  const revoked: Agent.AgentEvent = { type: 'AgentSkillRevoked', data: { skill_id: 's' } };
  const sealed: Agent.AgentEvent = { type: 'AgentSkillConfigReplaced', data: { skill_id: 's', sealed_config: 'x' } };
  given(Agent, agent, granted('s')).when(revokeSkill('s')).emits(revoked);
  for (const decision of [revokeSkill('s'), replaceConfig('s', 'x'), clearConfig('s')])
    given(Agent, agent).when(decision).refuses('not_found');
  assert.is(given(Agent, agent, granted('s'), sealed, revoked, granted('s')).state.skills.s!.config, null);
});

test('clearing a configuration that does not exist emits no event', () => {
  const sealed: Agent.AgentEvent = { type: 'AgentSkillConfigReplaced', data: { skill_id: 's', sealed_config: 'x' } };
  given(Agent, agent, granted('s')).when(clearConfig('s')).emits();
  given(Agent, agent, granted('s'), sealed)
    .when(clearConfig('s'))
    .emits({ type: 'AgentSkillConfigCleared', data: { skill_id: 's' } });
});

const permission = (skill_id: string, allowed = true) => ({ skill_id, action: 'use' as const, allowed });

test('replacing permissions on skills keeps the dates of unchanged ones; a list with the same skill twice is refused', () => {
  const replaced: Agent.AgentEvent = {
    type: 'AgentSkillPermissionsReplaced',
    data: {
      permissions: [
        { ...permission('a'), since: null },
        { ...permission('b', false), since: null },
      ],
    },
  };
  given(Agent, agent)
    .when(replacePermissions([permission('a'), permission('b', false)]))
    .emits(replaced);
  given(Agent, agent, replaced)
    .when(replacePermissions([permission('a'), permission('b', false)]))
    .emits();
  given(Agent, agent, replaced)
    .when(replacePermissions([permission('b'), permission('a')]))
    .emits({
      type: 'AgentSkillPermissionsReplaced',
      data: {
        permissions: [
          { ...permission('b'), since: null },
          { ...permission('a'), since: at(1) },
        ],
      },
    });
  given(Agent, agent)
    .when(replacePermissions([permission('a'), permission('a', false)]))
    .refuses('invalid', '/permissions/1');
});

test('an agent can use a skill that was granted to it, unless the skill is disabled or a permission forbids it', () => {
  const forbid: Agent.AgentEvent = {
    type: 'AgentSkillPermissionsReplaced',
    data: { permissions: [{ ...permission('s', false), since: null }] },
  };
  assert.is(mayUse(given(Agent, agent, granted('s')).state, 's'), true);
  assert.is(mayUse(given(Agent, agent).state, 's'), false);
  assert.is(mayUse(given(Agent, agent, granted('s', false)).state, 's'), false);
  assert.is(mayUse(given(Agent, agent, granted('s'), forbid).state, 's'), false);
});

test.run();
