import { type Mutant, one, seenBy } from './guard.ts';

const TENANT_IS = "{ column: 'tenant_id', op: '=', value: tenant_id },";
const HOOK_OF = ' || state.tenant_id !== ctx.tenant) throw notFound();';

/** What keeps the things of one tenant, and of one agent, from the others. */
export const FENCES_OF_THINGS: readonly Mutant[] = [
  one(
    "keys: the tenant list shows every tenant's",
    'projections/identity/api-key.ts',
    'Object.entries(owner).map',
    "Object.entries(owner).filter(([column]) => column !== 'tenant_id').map",
  ),
  one(
    "keys: the list of runner keys shows every agent's",
    'projections/identity/api-key.ts',
    'Object.entries(owner).map',
    "Object.entries(owner).filter(([column]) => column === 'kind').map",
  ),
  one(
    'keys: a foreign tenant key can be revoked',
    'commands/identity/api-key.ts',
    "key.kind === 'tenant' && key.tenant_id === ctx.tenant",
    "key.kind === 'tenant'",
  ),
  one(
    'keys: a foreign runner key can be revoked',
    'commands/identity/api-key.ts',
    ' && key.tenant_id === ctx.tenant && key.agent_id === agent_id',
    '',
  ),
  one("keys: another agent's runner key can be revoked", 'commands/identity/api-key.ts', ' && key.agent_id === agent_id', ''),
  one(
    'keys: every key is revoked as one of the platform',
    'commands/identity/api-key.ts',
    "key.kind === 'platform'),",
    'key.id !== null),',
  ),
  one(
    'keys: a runner key is revoked as a tenant key',
    'commands/identity/api-key.ts',
    "key.kind === 'tenant' && key.tenant_id",
    'key.tenant_id',
  ),
  one(
    "agents: the list shows every tenant's",
    'projections/agents/agent.queries.ts',
    `      ${TENANT_IS}\n      ...visibleTo`,
    '      ...visibleTo',
  ),
  one(
    "agents: the list as of then shows every tenant's",
    'projections/agents/agent.queries.ts',
    `    ${TENANT_IS}\n    { column: 'born'`,
    "    { column: 'born'",
  ),
  one(
    'agents: one is read by its id alone',
    'projections/agents/agent.queries.ts',
    'reads.one(from, { tenant_id, id }, doc)',
    'reads.one(from, { id }, doc)',
  ),
  one(
    'agents: those for admins only are listed',
    'projections/agents/agent.queries.ts',
    "        { column: 'is_admin_only', op: '=', value: false },\n",
    '',
  ),
  one(
    'agents: what somebody else holds shows them',
    'projections/agents/agent.queries.ts',
    "            { column: 'user_id', op: '=', value: visibility.user_id },\n",
    '',
  ),
  one(
    'agents: what was held before somebody left lists them',
    'projections/agents/agent.queries.ts',
    "            { column: 'given', op: '>', value: visibility.since },\n",
    '',
  ),
  seenBy(
    'tenants/member.api.test.ts',
    'agents: a role that does not show them lists them',
    'projections/agents/agent.queries.ts',
    "            { column: 'role', op: 'in', value: visibility.roles },\n",
    '',
  ),
  one(
    'models: the list shows those of others',
    'projections/agents/model.ts',
    "where: [{ column: 'available_to_all_tenants', op: '=', value: true }]",
    'where: []',
  ),
  one('models: a chain takes those of others', 'domain/agents/model.ts', ' && model.available_to_all_tenants;', ';'),
  one('agents: everybody sees all as of then', 'api/agents/agent.ts', "visibility.all || (await ctx.may('agent:read', id))", 'true'),
  one(
    'agents: whoever reads the tenant brings them back',
    'commands/agents/agent.ts',
    "await ctx.require(revision === undefined ? 'agent:delete' : 'agent:settings:write', agent_id);",
    '',
  ),
  seenBy(
    'tenants/member.api.test.ts',
    'agents: whoever reads them restores a revision',
    'commands/agents/agent.ts',
    "'agent:delete' : 'agent:settings:write'",
    "'agent:delete' : 'agent:read'",
  ),
  seenBy(
    'agents/agent.api.test.ts',
    'agents: whoever makes them hides them',
    'commands/agents/agent.ts',
    "if (settings.is_admin_only && !(await ctx.may('tenant:settings:write')))",
    'if (false)',
  ),
  seenBy(
    'agents/agent.api.test.ts',
    'agents: whoever edits them hides them',
    'commands/agents/agent.ts',
    "changesGuarded && (await ctx.may('agent:roles:write', agent_id))",
    'true',
  ),
  seenBy(
    'tenants/member.api.test.ts',
    "permissions: whoever sees an agent asks for anybody's",
    'api/agents/agent-roles.ts',
    "if (subject !== caller && !(await ctx.may('agent:roles:write', agent_id)))",
    'if (false)',
  ),
  one('agents: everybody sees all', 'projections/agents/agent.queries.ts', '  visibility.all\n    ? []', '  true\n    ? []'),
  one(
    "audit: the log shows every tenant's",
    'projections/audit/audit-log.queries.ts',
    "...(tenant_id === null ? [] : [{ column: 'tenant_id', op: '=', value: tenant_id } as const]), ",
    '',
  ),
  {
    name: "audit: an export holds every tenant's lines",
    edits: [['projections/audit/audit-log.queries.ts', `    ${TENANT_IS}\n    { column: 'place'`, "    { column: 'place'"]],
  },
  one(
    "audit: an export ends at another tenant's line",
    'projections/audit/audit-log.queries.ts',
    "const where: Condition[] = [{ column: 'tenant_id', op: '=', value: tenant_id }, ...upTo];",
    'const where: Condition[] = upTo;',
  ),
  one(
    "a time is that of another tenant's event",
    'projections/audit/audit-log.queries.ts',
    `    ${TENANT_IS}\n    { column: 'created_at'`,
    "    { column: 'created_at'",
  ),
  {
    name: 'deliveries: one is read by its id alone',
    edits: [
      ['projections/webhooks/delivery.queries.ts', 'reads.one(from, { tenant_id, id })', 'reads.one(from, { id })'],
      ['api/webhooks/delivery.ts', HOOK_OF, ') throw notFound();'],
    ],
  },
  one('deliveries: the list of a foreign hook is empty, not absent', 'api/webhooks/delivery.ts', HOOK_OF, ') throw notFound();'),
  {
    name: 'deliveries: the list of a foreign hook is shown',
    edits: [
      ['api/webhooks/delivery.ts', HOOK_OF, ') throw notFound();'],
      ['projections/webhooks/delivery.queries.ts', "      equal('tenant_id', integration.tenant_id),\n", ''],
    ],
  },
  one(
    'deliveries: whoever is a member reads them',
    'api/webhooks/delivery.ts',
    "if (!(await ctx.may('tenant:integrations:read')) && !(await ctx.may('agent:chat:read', agent_id))) throw notFound();",
    '',
  ),
  {
    name: 'deliveries: a runner fetches the bodies of another',
    edits: [
      ['api/webhooks/delivery.ts', " || (principal.kind === 'runner' && principal.agent_id !== recorded.facts.agent_id)", ''],
      ['commands/access/authorize.ts', ' || principal.agent_id !== agent_id) return false', ') return false'],
    ],
  },
  one(
    "integrations: the list shows every tenant's",
    'projections/webhooks/integration.queries.ts',
    'Object.entries({ tenant_id, ...filter })',
    'Object.entries({ ...filter })',
  ),
  one('integrations: a foreign one can be changed', 'domain/webhooks/integration.ts', ' || integration.tenant_id !== tenant_id)', ')'),
  {
    name: 'integrations: one is read by its id alone',
    edits: [['projections/webhooks/integration.queries.ts', 'found && doc?.tenant_id === tenant_id ?', 'found && doc ?']],
  },
  one(
    'integrations: one as of then is read by its id alone',
    'commands/webhooks/integration.ts',
    ' && loaded.state.tenant_id === ctx.tenant ?',
    ' ?',
  ),
  one(
    "broker credentials: another agent's can be revoked",
    'domain/runners/runner-credential.ts',
    ' || credential.agent_id !== agent_id) throw',
    ') throw',
  ),
  {
    name: "broker credentials: the list shows every agent's",
    edits: [
      ['projections/runners/runner-credential.ts', `      ${TENANT_IS}\n`, ''],
      ['projections/runners/runner-credential.ts', "      { column: 'agent_id', op: '=', value: agent_id },\n", ''],
    ],
  },
  one(
    'roles: whoever is no member is given one',
    'domain/agents/agent-roles.ts',
    "if (!members[user_id]) throw new Refusal('not_found', 'There is no such member');",
    '',
  ),
  one(
    'grants: whoever is no member is given one',
    'domain/agents/agent-roles.ts',
    "if (!members[user_id]) throw invalid('/user_id', 'is not a member of this tenant', 'not_a_member');",
    '',
  ),
  one('grants: by whoever reads the tenant', 'api/agents/agent-roles.ts', "await ctx.require('agent:roles:write', input.agent_id);", ''),
  one('ownership goes to whoever is no member', 'domain/agents/agent-roles.ts', 'if (!members[new_owner_id]) throw', 'if (false) throw'),
  one(
    'hooks are given agents that are not there',
    'commands/webhooks/integration.ts',
    "if (state.status !== 'live') throw",
    'if (false) throw',
  ),
];
