import { type Mutant, mutant, mutantSeenBy } from './guard.ts';

const permit = (name: string, from: string, to: string): Mutant => ({
  name: `permit: ${name}`,
  edits: [['commands/access/authorize.ts', from, to]],
});

/**
 * Changed copies of the code (mutants). Each copy lacks one check (guard) that limits callers to their tenants and
 * permissions. The name of a mutant says what is possible without the check.
 */
export const CALLER_GUARDS: readonly Mutant[] = [
  permit('a tenant key works in every tenant', 'principal.bound_to !== null && principal.bound_to !== tenant_id', 'false'),
  {
    name: 'permit: a tenant key of a super-admin is a platform key',
    edits: [
      ['commands/access/authorize.ts', ' && principal.bound_to === null) return undefined', ') return undefined'],
      ['commands/identity/authenticate-api-key.ts', 'super_admin: false', 'super_admin: user.is_super_admin'],
    ],
  },
  mutant(
    'a read-only key may change data',
    'api/http/authorize-request.ts',
    "if (principal.kind !== 'system' && principal.read_only && !isRead(row))",
    'if (false)',
  ),
  mutant(
    'a key with a role acts with the role of its owner',
    'domain/access/permission.ts',
    "lesserRole(member.role, principal.max_role ?? 'OWNER')",
    'member.role',
  ),
  permit('a key with a role has all permissions of its owner on agents', 'withLimitedRole(tenant, principal.user_id, role)', 'tenant'),
  permit('a key with the role AUDITOR keeps the roles of its owner on agents', ' || !keyAllows(principal, permission)) throw', ') throw'),
  permit('every user is a super-admin on the platform', 'principal.super_admin && principal.bound_to', 'principal.bound_to'),
  permit('every user may read tenants like a super-admin', 'if (!principal.super_admin) throw notFound();', ''),
  permit('super-admins need no break-glass', 'if (!open) throw', 'if (false) throw'),
  permit('a super-admin in a tenant has every permission', 'if (!GUEST_PERMISSIONS.includes(permission)) throw forbidden(permission);', ''),
  permit(
    'the break-glass of one super-admin works for all',
    "(tenant.super_admin_access[principal.user_id] ?? '')",
    "(Object.values(tenant.super_admin_access).sort().at(-1) ?? '')",
  ),
  permit('a break-glass never ends', '> new Date(now()).toISOString()', "> ''"),
  {
    name: 'permit: a tenant cannot disable super-admin access',
    edits: [
      ['commands/access/authorize.ts', 'tenant.allow_superadmin_access && ', ''],
      [
        'domain/tenants/tenant.ts',
        'return data.allow_superadmin_access === false ? { ...data, super_admin_access: {} } : data;',
        'return data;',
      ],
    ],
  },
  permit('a closed tenant accepts unbound credentials', ' || Tenant.isClosed(tenant)) throw notFound()', ') throw notFound()'),
  permit(
    'a suspended tenant accepts unbound credentials',
    "    if (tenant.is_suspended) throw new Refusal('tenant_suspended', 'The tenant is suspended');\n    if (isTenant",
    '    if (isTenant',
  ),
  permit(
    'a user without membership is an OWNER',
    'const role = tenantRoleOf(tenant, principal);',
    "const role = tenantRoleOf(tenant, principal) ?? 'OWNER';",
  ),
  mutant('an admin-only agent is visible to all members', 'domain/access/permission.ts', 'if (agent.is_admin_only) return false;', ''),
  mutant(
    'roles from before a member left are valid again after rejoining',
    'domain/agents/agent-roles.ts',
    ' && assignment.since > member.since ?',
    ' ?',
  ),
  mutant(
    'a key of a closed tenant is accepted',
    'commands/identity/authenticate-api-key.ts',
    "if (Tenant.isClosed(tenant)) throw unauthorized('The API key is not valid');",
    '',
  ),
  mutant(
    'sign-in: a former member may sign in',
    'commands/identity/sign-in.ts',
    'if (!(await hasAccess(ctx, user, isMember))) throw',
    'if (false) throw',
  ),
  mutant(
    'sign-in: every token of the issuer is accepted',
    'commands/identity/sign-in.ts',
    'if (!(await isAllowedAccount(ctx, email))) throw',
    'if (false) throw',
  ),
  mutant('sign-in: members of a closed tenant may sign in', 'commands/identity/membership.ts', '!Tenant.isClosed(state) && ', ''),
  {
    name: 'sign-in: any membership of any user allows signing in',
    edits: [
      ['projections/identity/user.queries.ts', ".where('membership.user_id', '=', user_id)", ''],
      ['commands/identity/membership.ts', ' && state.members[user_id]) return true', ') return true'],
    ],
  },
  mutant(
    'me: a bound key lists all tenants of its owner',
    'api/identity/me.ts',
    'if (principal.bound_to !== null) return [principal.bound_to];',
    '',
  ),
  mutant('me: closed tenants are listed', 'api/identity/me.ts', 'Tenant.isClosed(state) || ', ''),
  {
    name: 'me: tenants of other users are listed',
    edits: [
      ['projections/identity/user.queries.ts', ".where('membership.user_id', '=', user_id)", ''],
      ['api/identity/me.ts', 'Tenant.isClosed(state) || (user_id !== null && role === null)', 'Tenant.isClosed(state)'],
    ],
  },
  permit('a runner key works in every tenant', 'principal.tenant_id !== tenant_id || principal.agent_id', 'principal.agent_id'),
  permit('a runner key works for every agent', ' || principal.agent_id !== agent_id) return false', ') return false'),
  permit('a runner can find out which tenants exist', "principal.kind === 'runner' && principal.tenant_id === tenant_id ?", 'true ?'),
  permit('every tenant role has every permission', 'if (!tenantRoleAllows(role, permission)) throw forbidden(permission);', ''),
  permit(
    'read access to an agent gives every permission on it',
    'if (!agentAllows(tenant, principal.user_id, agent, permission)) throw',
    'if (false) throw',
  ),
  permit(
    'an invisible agent is refused, not hidden',
    " || !agentAllows(tenant, principal.user_id, agent, 'agent:read')) throw notFound()",
    ') throw notFound()',
  ),
  mutant(
    'a suspended tenant is accepted',
    'commands/identity/authenticate-api-key.ts',
    "if (tenant.is_suspended && key.kind === 'tenant') throw tenantSuspended();",
    '',
  ),
  mutant(
    'a super-admin in a tenant may change what needs a read permission',
    'api/http/authorize-request.ts',
    "if (as === 'guest' && !isRead(row)) throw",
    'if (false) throw',
  ),
  mutant('reads by super-admins are not recorded', 'api/http/authorize-request.ts', "if (as === 'guest') await", 'if (false) await'),
  mutantSeenBy(
    'deliveries/receive-delivery.api.test.ts',
    'hooks: those of a suspended tenant accept deliveries',
    'commands/deliveries/delivery-eligibility.ts',
    ' && !is_suspended',
    '',
  ),
  mutantSeenBy(
    'tenants/close-tenants.live.test.ts',
    'hooks: those of a closed tenant accept deliveries',
    'commands/deliveries/delivery-eligibility.ts',
    "(status === 'active' || status === 'closing') && ",
    '',
  ),
  mutantSeenBy(
    'billing/delivery-quota.live.test.ts',
    "limits: one tenant's deliveries count for all",
    'domain/access/rate-limit-policy.ts',
    '{tenant_id}`',
    "{''}`",
  ),
  mutantSeenBy(
    'ratelimit/limiter.api.test.ts',
    "limits: one tenant's requests count for all",
    'domain/access/rate-limit-policy.ts',
    'key: tenant }',
    "key: '' }",
  ),
  mutantSeenBy(
    'http/idempotency.api.test.ts',
    'idempotency: a key is shared by all callers',
    'infra/aggregates/idempotency.ts',
    'callerOf(info.principal), request',
    'request',
  ),
  mutantSeenBy(
    'http/idempotency.api.test.ts',
    'idempotency: a key is shared by all routes',
    'infra/aggregates/idempotency.ts',
    ' request.route, request.key)',
    ' request.key)',
  ),
  mutantSeenBy(
    'runners/runner-credential.api.test.ts',
    "broker: a runner can pull every agent's messages",
    'domain/runners/runner-credential.ts',
    '{consumerName(agent)}`,',
    "{'*'}`,",
  ),
  mutantSeenBy(
    'runners/runner-credential.api.test.ts',
    "broker: a runner can acknowledge every agent's messages",
    'domain/runners/runner-credential.ts',
    '{consumerName(agent)}.>`',
    "{'*'}.>`",
  ),
  mutantSeenBy(
    'runners/runner-isolation.live.test.ts',
    "broker: an agent's consumer delivers every agent's messages",
    'infra/nats/jetstream.ts',
    'filter_subject: inboundSubject(tenant, agent)',
    "filter_subject: inboundSubject('*', '*')",
  ),
  mutantSeenBy(
    'identity/browser-sign-in.api.test.ts',
    'cookies: pages of other origins can change data',
    'api/identity/sign-in-cookies.ts',
    'if (!UNSAFE_METHOD.test(c.req.method)) return;',
    'return;',
  ),
  mutant(
    'a key works after its owner was deactivated',
    'commands/identity/authenticate-api-key.ts',
    'if (!User.isActive(user)) throw',
    'if (false) throw',
  ),
  mutant(
    'a key works after its owner left the tenant',
    'commands/identity/authenticate-api-key.ts',
    'if (!tenant.members[user.id]) throw',
    'if (false) throw',
  ),
  mutant(
    'a revoked key is accepted',
    'commands/identity/authenticate-api-key.ts',
    "if (key.status !== 'active') throw unauthorized('The API key is not valid');",
    '',
  ),
  mutant(
    'an expired key is accepted',
    'commands/identity/authenticate-api-key.ts',
    'if (key.expires_at !== null && Date.parse(key.expires_at) <= now())',
    'if (false)',
  ),
  mutantSeenBy(
    'deliveries/tenant-deliveries.api.test.ts',
    'deliveries: the list of the tenant shows every member all of them',
    'api/agents/readable-agents.ts',
    'candidates.filter((_, n) => readable[n])',
    'undefined',
  ),
];
