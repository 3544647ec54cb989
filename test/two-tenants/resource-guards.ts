import { type Mutant, mutant, mutantSeenBy } from './guard.ts';

const HOOK_OF = ' || state.tenant_id !== ctx.tenant) throw notFound();';

/**
 * Changed copies of the code (mutants). Each copy lacks one check (guard) that protects resources of a tenant or an
 * agent. The name of a mutant says what is possible without the check.
 */
export const RESOURCE_GUARDS: readonly Mutant[] = [
  mutant(
    "keys: the tenant list shows every tenant's",
    'projections/identity/api-key.queries.ts',
    "    .$if(tenant_id !== undefined, (query) => query.where('key.tenant_id', '=', tenant_id!))\n",
    '',
  ),
  mutant(
    "keys: the list of runner keys shows every agent's",
    'projections/identity/api-key.queries.ts',
    ".$if(agent_id !== undefined, (query) => query.where('key.agent_id', '=', agent_id!))",
    '',
  ),
  mutant(
    'keys: a foreign tenant key can be renamed and revoked',
    'commands/identity/api-key.ts',
    "key.kind === 'tenant' && key.tenant_id === ctx.tenant",
    "key.kind === 'tenant'",
  ),
  mutant(
    'keys: a foreign runner key can be revoked',
    'commands/identity/api-key.ts',
    ' && key.tenant_id === ctx.tenant && key.agent_id === agent_id',
    '',
  ),
  mutant("keys: another agent's runner key can be revoked", 'commands/identity/api-key.ts', ' && key.agent_id === agent_id', ''),
  mutant(
    'keys: every key is revoked as one of the platform',
    'commands/identity/api-key.ts',
    "key.kind === 'platform'),",
    'key.id !== null),',
  ),
  mutant(
    'keys: a runner key is revoked as a tenant key',
    'commands/identity/api-key.ts',
    "key.kind === 'tenant' && key.tenant_id",
    'key.tenant_id',
  ),
  mutant(
    "agents: the list shows every tenant's",
    'projections/agents/agent.queries.ts',
    ".where('agent.tenant_id', '=', tenant_id)\n    .$if(",
    '.$if(',
  ),
  mutant(
    "agents: the as-of list shows every tenant's",
    'projections/agents/agent.queries.ts',
    ".where('agent.tenant_id', '=', tenant_id)\n    .where('agent.born'",
    ".where('agent.born'",
  ),
  mutantSeenBy(
    'tenants/member.api.test.ts',
    'permissions: read access to an agent shows those of all users',
    'api/agents/effective-permissions.ts',
    "if (subject !== caller && !(await ctx.may('agent:roles:write', agent_id)) && !(await ctx.may('tenant:audit:read')))",
    'if (false)',
  ),
  mutantSeenBy(
    'agents/effective-access.api.test.ts',
    'access: everybody may preview changes of any agent and role',
    'api/agents/effective-access.ts',
    "await ctx.require('agent:roles:write', agent_id)",
    'await Promise.resolve(agent_id)',
  ),
  mutant(
    'events: the events of every tenant can be read',
    'api/audit/event-detail.ts',
    'event && event.meta.tenant === ctx.tenant &&',
    'event &&',
  ),
  mutant(
    "audit: the log shows every tenant's",
    'projections/audit/audit-log.queries.ts',
    ".where('entry.tenant_id', '=', tenant_id), filter)",
    ', filter)',
  ),
  {
    name: "audit: an export contains every tenant's entries",
    edits: [
      [
        'projections/audit/audit-log.queries.ts',
        "ofTenant(db.selectFrom('audit.audit_logs as entry').where('entry.place', '<=', until), filter)",
        "filtered(db.selectFrom('audit.audit_logs as entry').where('entry.place', '<=', until), filter)",
      ],
    ],
  },
  mutant(
    "audit: an export ends at another tenant's entry",
    'projections/audit/audit-log.queries.ts',
    ".where('entry.tenant_id', '=', tenant_id)\n    .$if(until",
    ".$if(time !== undefined, (query) => query.where('entry.tenant_id', '=', tenant_id))\n    .$if(until",
  ),
  mutant(
    "a time is resolved to another tenant's event",
    'projections/audit/audit-log.queries.ts',
    ".where('entry.tenant_id', '=', tenant_id)\n    .$if(until",
    ".$if(time === undefined, (query) => query.where('entry.tenant_id', '=', tenant_id))\n    .$if(until",
  ),
  {
    name: 'deliveries: one is read by its id alone',
    edits: [
      ['projections/deliveries/delivery.queries.ts', 'reads.one(from, { tenant_id, id })', 'reads.one(from, { id })'],
      ['api/deliveries/delivery-list.ts', HOOK_OF, ') throw notFound();'],
    ],
  },
  mutant('deliveries: the list of a foreign hook is empty, not absent', 'api/deliveries/delivery-list.ts', HOOK_OF, ') throw notFound();'),
  {
    name: 'deliveries: the list of a foreign hook is shown',
    edits: [
      ['api/deliveries/delivery-list.ts', HOOK_OF, ') throw notFound();'],
      [
        'projections/deliveries/delivery-selection.ts',
        ".where('delivery.tenant_id', '=', tenant_id)\n    .$if(agent_ids",
        ".$if(false, (query) => query.where('delivery.tenant_id', '=', tenant_id))\n    .$if(agent_ids",
      ],
    ],
  },
  mutant(
    'deliveries: every member may read them',
    'api/deliveries/delivery-list.ts',
    "if (!(await ctx.may('tenant:integrations:read'))) await ctx.require('agent:chat:read', agent_id);",
    '',
  ),
  mutant(
    'deliveries: every member may send them again',
    'api/deliveries/delivery.ts',
    "permit: 'tenant:integrations:write',\n    body: Redeliver",
    "permit: 'tenant:read',\n    body: Redeliver",
  ),
  mutant(
    "deliveries: one is sent to another tenant's agent",
    'commands/deliveries/redeliver.ts',
    '  await checkOnce(ctx, () => checkAgent(ctx, target));\n',
    '',
  ),
  {
    name: 'deliveries: a runner fetches the bodies of another',
    edits: [
      ['api/deliveries/delivery.ts', " || (principal.kind === 'runner' && !recorded.agents.includes(principal.agent_id))", ''],
      ['commands/access/authorize.ts', ' || principal.agent_id !== agent_id) return false', ') return false'],
    ],
  },
  mutant(
    "integrations: the list shows every tenant's",
    'projections/integrations/integration.queries.ts',
    "    .where('integration.tenant_id', '=', tenant_id)\n",
    '',
  ),
  mutant(
    'integrations: a foreign one can be changed',
    'domain/integrations/integration.ts',
    ' || integration.tenant_id !== tenant_id)',
    ')',
  ),
  {
    name: 'integrations: one is read by its id alone',
    edits: [['projections/integrations/integration.queries.ts', 'found && doc?.tenant_id === tenant_id ?', 'found && doc ?']],
  },
  mutant(
    'integrations: an as-of read uses the id alone',
    'commands/integrations/integration.ts',
    ' && loaded.state.tenant_id === ctx.tenant ?',
    ' ?',
  ),
  mutant(
    "broker credentials: another agent's can be revoked",
    'domain/runners/runner-credential.ts',
    ' || credential.agent_id !== agent_id) throw',
    ') throw',
  ),
  {
    name: "broker credentials: the list shows every agent's",
    edits: [
      ['projections/runners/runner-credential.queries.ts', "    .where('credential.tenant_id', '=', tenant_id)\n", ''],
      ['projections/runners/runner-credential.queries.ts', "\n    .where('credential.agent_id', '=', agent_id)", ''],
    ],
  },
  mutant(
    'roles: users who are not members can get one',
    'domain/agents/agent-roles.ts',
    "if (!members[user_id]) throw new Refusal('not_found', 'There is no such member');",
    '',
  ),
  mutant(
    'grants: users who are not members can get one',
    'domain/agents/agent-roles.ts',
    "if (!members[user_id]) throw invalid('/user_id', 'is not a member of this tenant', 'not_a_member');",
    '',
  ),
  mutantSeenBy(
    'identity/api-key.api.test.ts',
    'keys: an ADMIN can rename and revoke those of an OWNER',
    'commands/identity/api-key.ts',
    'assertMayChangeKeyOf(tenant, tenantRoleOf(tenant, ctx.principal), key.owner_id);',
    '',
  ),
  mutant(
    'grants: every member may grant access',
    'api/agents/agent-in-body.ts',
    'if (agent.success) await ctx.require(permission, agent.data.agent_id);',
    '',
  ),
  mutant(
    'ownership can be transferred to users who are not members',
    'domain/agents/agent-roles.ts',
    'if (!members[new_owner_id]) throw',
    'if (false) throw',
  ),
  mutant(
    'hooks can be connected to agents that do not exist',
    'commands/integrations/integration.ts',
    "if (state.status !== 'live') throw",
    'if (false) throw',
  ),
];
