import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import { assertCloneable, clone, slugOf, withSuffix } from '../../domain/agents/agent-clone.ts';
import { fold } from '../../domain/aggregate.ts';
import { Slug } from '../../domain/fields.ts';
import * as SlackConfig from '../../domain/slack/slack-config.ts';
import { ACTOR, given, recorded } from '../fixtures/given.ts';

const source: Agent.AgentEvent[] = [
  {
    type: 'AgentCreated',
    data: {
      ...Agent.defaults,
      name: 'Reviewer',
      slug: 'reviewer',
      generation: 0,
      owner_id: 'another-user',
      skill_visibility_scope: 'tenant_allowed',
      is_seed: true,
      can_author_skills: true,
    },
  },
  { type: 'AgentUpdated', data: { description: 'Reads', external_mail_enabled: false, ssh_public_key: 'ssh-ed25519 AAAA' } },
  { type: 'AgentRepoLinked', data: { repo_url: 'https://example.com/repo.git', code_ref: 'v1' } },
  { type: 'AgentModelGranted', data: { model_id: 'm', models: [{ model_id: 'm', access: 'read_only', since: null }] } },
  { type: 'AgentSkillGranted', data: { skill_id: 's', is_enabled: false } },
  { type: 'AgentSkillGranted', data: { skill_id: 'hidden', is_enabled: true } },
  { type: 'AgentSkillConfigReplaced', data: { skill_id: 's', sealed_config: 'v1.x.y.z' } },
  { type: 'AgentSkillPermissionsReplaced', data: { permissions: [{ skill_id: 's', action: 'use', allowed: false, since: null }] } },
  { type: 'AgentToolGranted', data: { tool_id: 't', is_enabled: false, configuration: { dry_run: true } } },
  { type: 'AgentAccessGranted', data: { user_id: 'another-user', role: 'EDITOR' } },
  { type: 'AgentBudgetChanged', data: { hourly_limit_micros: 7 } },
  { type: 'AgentDeactivated', data: {} },
];
const slack_config = { ...SlackConfig.initial, slack_rpm_limit: 3 };
const identity = { name: 'Copy', slug: 'copy', generation: 2, owner_id: ACTOR, source_revision: source.length - 1 };
const cloned = clone(given(Agent, ...source).state, { slack_config, skill_ids: new Set(['s']) }, identity)();
const copy = fold(Agent, recorded('agent', cloned));

/** The fields of an agent whose values in a copy may differ from those in the source. */
const OWN_FIELDS = [
  'name',
  'slug',
  'can_author_skills',
  'is_active',
  'is_seed',
  'ssh_public_key',
  'models',
  'skills',
  'skill_permissions',
  'tools',
];
const RECORDS = ['roles', 'grants', 'created_by_id', 'created_at', 'updated_at', 'inherited_slack_config'];

test('a copied agent has every setting of its source, except the settings that this test lists as never copied', () => {
  const { state } = given(Agent, ...source);
  for (const field of Object.keys(state) as (keyof Agent.Agent)[])
    if (![...OWN_FIELDS, ...RECORDS].includes(field)) assert.equal(copy[field], state[field], field);
  assert.equal([copy.can_author_skills, copy.is_active, copy.is_seed, copy.ssh_public_key], [false, true, false, null]);
  assert.equal([copy.name, copy.slug, copy.created_by_id, copy.inherited_slack_config], ['Copy', 'copy', ACTOR, slack_config]);
});

test('in every field that cloning copies, the source agent of these tests has a value that differs from the default', () => {
  const [state, added] = [given(Agent, ...source).state, given(Agent, ...source.slice(0, 1)).state];
  for (const field of ['description', 'external_mail_enabled', 'repo_url', 'code_ref', 'hourly_limit_micros'] as const)
    assert.is.not(state[field], added[field], field);
});

test('the only role on a copied agent is the OWNER role of the caller', () => {
  assert.equal(Object.keys(copy.roles), [ACTOR]);
  assert.equal([copy.roles[ACTOR]!.role, copy.grants], ['OWNER', {}]);
});

test('a copied agent has the models, tools, permissions and granted skills of its source, with new dates, but without the configuration of the skills', () => {
  const { created_at } = copy;
  assert.equal(copy.models, [{ model_id: 'm', access: 'read_only', created_at }]);
  assert.equal(copy.skills, { s: { is_enabled: false, created_at, config: null } });
  assert.equal(copy.skill_permissions, [{ skill_id: 's', action: 'use', allowed: false, created_at }]);
  assert.equal(copy.tools, { t: { is_enabled: false, configuration: { dry_run: true }, created_at, updated_at: created_at } });
  assert.not.match(JSON.stringify(cloned), /sealed|v1\.x/);
});

test('cloning a deleted agent is refused, and so is cloning an agent under its own name', () => {
  const checked = (name: string) => (agent: Agent.Agent) => {
    assertCloneable(agent, name);
    return [];
  };
  given(Agent, ...source)
    .when(checked('reviewer'))
    .emits();
  given(Agent, ...source)
    .when(checked('Reviewer'))
    .refuses('invalid', '/name');
  given(Agent).when(checked('Copy')).refuses('not_found');
  given(Agent, ...source, { type: 'AgentDeleted', data: {} })
    .when(checked('Copy'))
    .refuses('not_found');
});

test('from every valid name, a valid slug can be derived; it has at most 64 characters including its suffix', () => {
  const slugs: [string, string][] = [
    ['Second Reviewer', 'second-reviewer'],
    ['  A -- b9 ', 'a-b9'],
    ['---', 'agent'],
    [' ', 'agent'],
    ['X'.repeat(255), 'x'.repeat(64)],
    [`${'x'.repeat(63)} y`, 'x'.repeat(63)],
  ];
  for (const [name, slug] of slugs) {
    assert.is(slugOf(name), slug);
    assert.ok(Slug.safeParse(slug).success);
    for (const suffix of ['2', 'a1b2c3d4']) {
      const longer = withSuffix(slug, suffix);
      assert.ok(Slug.safeParse(longer).success && longer.endsWith(`-${suffix}`), longer);
      assert.not.match(longer, /--/);
    }
  }
  assert.is(withSuffix('x'.repeat(64), '2'), `${'x'.repeat(62)}-2`);
});

test.run();
