import { type Mutant, mutant, mutantSeenBy } from './guard.ts';

/**
 * Changed copies of the code (mutants). Each copy lacks one check (guard) that hides or protects agents and models. The
 * name of a mutant says what is possible without the check.
 */
export const AGENT_GUARDS: readonly Mutant[] = [
  mutant(
    'agents: one is read by its id alone',
    'projections/agents/agent.queries.ts',
    'reads.one(from, { tenant_id, id }, doc)',
    'reads.one(from, { id }, doc)',
  ),
  mutant(
    'agents: admin-only agents are listed',
    'projections/agents/agent.queries.ts',
    "query.where('agent.is_admin_only', '=', false)",
    'query',
  ),
  mutant(
    'agents: roles of other users make them visible',
    'projections/agents/agent.queries.ts',
    "            .where('access.user_id', '=', user_id!)\n",
    '',
  ),
  mutant(
    'agents: roles from before a member left make them visible',
    'projections/agents/agent.queries.ts',
    "\n            .where('access.given', '>', since!)",
    '',
  ),
  mutantSeenBy(
    'tenants/member.api.test.ts',
    'agents: a role without the permission View makes them visible',
    'projections/agents/agent.queries.ts',
    "            .where(({ eb, fn, val }) => eb('access.role', '=', fn.any(val(roles!))))\n",
    '',
  ),
  mutant(
    'agents: one that the caller may not see can be cloned',
    'commands/agents/clone-agent.ts',
    " && (await inside.may('agent:read', agent_id))",
    '',
  ),
  mutant('agents: callers who may not create agents can clone them', 'api/agents/clone-agent.ts', 'await inside.require(PERMISSION);', ''),
  mutantSeenBy(
    'agents/clone-secrets.api.test.ts',
    'agents: a copy has skills that its owner may not see',
    'commands/agents/clone-agent.ts',
    'Skill.isVisible(state, { seesAll })',
    "state.status === 'live'",
  ),
  mutant(
    'models: the list shows models that are not available to the tenant',
    'projections/agents/model.queries.ts',
    "eb('model.available_to_all_tenants', '=', true)",
    'eb.lit(true)',
  ),
  mutant(
    'models: a chain accepts models that are not available to the tenant',
    'domain/agents/model.ts',
    '(model.available_to_all_tenants || model.open_to[tenant_id] !== undefined)',
    'true',
  ),
  mutant(
    'agents: all members see all agents in the as-of list',
    'api/agents/agent.ts',
    "visibility.all || (await ctx.may('agent:read', id))",
    'true',
  ),
  mutantSeenBy(
    'agents/assistant.api.test.ts',
    'assistants: those of all tenants of the caller are shown, whatever the caller may read there',
    'api/agents/assistant.ts',
    'readable[index]',
    'true',
  ),
  mutantSeenBy(
    'agents/assistant.api.test.ts',
    'assistants: an agent that the caller may not see can be named as the place from which to read',
    'api/agents/assistant.ts',
    " && (await inside.may('agent:read', id))",
    '',
  ),
  {
    name: 'agents: every member may restore them',
    edits: [
      [
        'commands/agents/restore-agent.ts',
        "await ctx.require(revision === undefined ? 'agent:delete' : 'agent:settings:write', agent_id);",
        '',
      ],
      ['api/agents/agent.ts', "if (!(await ctx.may('agent:settings:write', agent_id))) await ctx.require('agent:delete', agent_id);", ''],
    ],
  },
  mutantSeenBy(
    'tenants/member.api.test.ts',
    'agents: read access allows restoring a revision',
    'commands/agents/restore-agent.ts',
    "'agent:delete' : 'agent:settings:write'",
    "'agent:delete' : 'agent:read'",
  ),
  mutantSeenBy(
    'agents/agent.api.test.ts',
    'agents: every creator may make them admin-only',
    'commands/agents/agent.ts',
    "if (settings.is_admin_only && !(await ctx.may('tenant:settings:write')))",
    'if (false)',
  ),
  mutantSeenBy(
    'agents/agent.api.test.ts',
    'agents: every editor may make them admin-only',
    'commands/agents/agent-settings.ts',
    "changesGuarded && (await ctx.may('agent:roles:write', agent_id))",
    'true',
  ),
  mutant('agents: all members see all agents', 'projections/agents/agent.queries.ts', '.$if(user_id !== undefined', '.$if(false'),
  mutantSeenBy(
    'autocomplete/autocomplete.api.test.ts',
    'autocomplete: every member finds all agents',
    'api/autocomplete/autocomplete.ts',
    'only: await visibleAgents(ctx)',
    'only: undefined',
  ),
  mutantSeenBy(
    'autocomplete/autocomplete.api.test.ts',
    'autocomplete: every member finds all sessions and files',
    'api/autocomplete/autocomplete.ts',
    'only: await agentsWithReadableChats(ctx)',
    'only: undefined',
  ),
  mutantSeenBy(
    'autocomplete/autocomplete.api.test.ts',
    'autocomplete: every member finds private skills',
    'api/autocomplete/autocomplete.ts',
    "(await seesAllSkills(ctx)) ? undefined : 'public'",
    'undefined',
  ),
];
