// share
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { agentAllows, type TenantPermission, tenantRoleAllows, tenantRoleOf } from '../../domain/access/permission.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { type AgentPermission, DEFAULT_ROLE_PERMISSIONS, LABELS, PERMISSION_OF_LABEL } from '../../domain/agents/role-permissions.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { TENANT_ROLES, type TenantRole } from '../../domain/tenants/tenant-role.ts';
import { given } from '../fixtures/given.ts';
import { openShare } from '../fixtures/share.ts';

const USER = 'cme';
const ALL_PERMISSIONS: AgentPermission[] = Object.values(PERMISSION_OF_LABEL);
const [OWNER, ADMIN, MEMBER, AUDITOR] = [0, 1, 2, 3];

/** The permissions of each tenant role. The four columns are OWNER, ADMIN, MEMBER and AUDITOR; `y` means allowed. */
const TENANT_TABLE: Record<TenantPermission, string> = {
  'tenant:read': 'yyyy',
  'tenant:agents:create': 'yyy-',
  'tenant:audit:read': 'yy-y',
  'tenant:billing:read': 'yy--',
  'tenant:billing:write': 'y---',
  'tenant:close': 'y---',
  'tenant:credentials:write': 'yy--',
  'tenant:integrations:read': 'yy--',
  'tenant:integrations:write': 'yy--',
  'tenant:keys:write': 'yy--',
  'tenant:marketplace:write': 'yy--',
  'tenant:members:write': 'yy--',
  'tenant:settings:write': 'yy--',
  'tenant:skills:write': 'yy--',
  'tenant:tools:write': 'yy--',
};

const VIEWER = ['agent:read', 'agent:chat:read'];
const MANAGER = [...VIEWER, 'agent:assign', 'agent:settings:write', 'agent:skills:write', 'agent:tools:write'];
const AGENT_TABLE: Record<string, string[]> = { VIEWER, MANAGER, OWNER: ALL_PERMISSIONS, none: [] };

const tenantWith = (role: TenantRole | null): Tenant.Tenant =>
  given(
    Tenant,
    { type: 'TenantCreated', data: { name: 'T', slug: 't', plan_id: 'cp', billing_email: null, generation: 0 } },
    ...(role ? [{ type: 'MemberAdded' as const, data: { user_id: USER, role } }] : []),
  ).state;

type Given = { role: 'VIEWER' | 'MANAGER' | 'OWNER' | 'none'; grant: 'VIEWER' | 'EDITOR' | 'none'; is_admin_only: boolean };

/**
 * Creates an agent on which the user has this role and this grant. Two other events come first, so that the events that
 * assign the role and the grant are later than the start of the user's membership. Otherwise, the role and the grant
 * would belong to an earlier membership and have no effect.
 */
const agentWith = ({ role, grant, is_admin_only }: Given): Agent.Agent => {
  const created: Agent.AgentEvent = {
    type: 'AgentCreated',
    data: {
      ...Agent.defaults,
      name: 'A',
      slug: 'a',
      generation: 0,
      owner_id: 'csomebody',
      skill_visibility_scope: 'private_only',
      is_seed: false,
      is_admin_only,
    },
  };
  const laterPositions: Agent.AgentEvent[] = [
    { type: 'AgentDeactivated', data: {} },
    { type: 'AgentActivated', data: {} },
  ];
  const roles: Agent.AgentEvent[] = role === 'none' ? [] : [{ type: 'AgentRoleAssigned', data: { user_id: USER, role } }];
  const grants: Agent.AgentEvent[] = grant === 'none' ? [] : [{ type: 'AgentAccessGranted', data: { user_id: USER, role: grant } }];
  return given(Agent, created, ...laterPositions, ...roles, ...grants).state;
};

const expected = (tenantRole: TenantRole | null, { role, grant, is_admin_only }: Given): string[] => {
  if (tenantRole === null) return [];
  if (tenantRole === 'OWNER' || tenantRole === 'ADMIN') return ALL_PERMISSIONS;
  const assigned = is_admin_only ? [] : [...AGENT_TABLE[role]!, ...AGENT_TABLE[grant === 'EDITOR' ? 'MANAGER' : grant]!];
  return tenantRole === 'AUDITOR' ? ['agent:read', ...assigned] : assigned;
};

test('for each tenant role, a member has exactly the permissions on the tenant that the table in this test lists', () => {
  for (const [permission, row] of Object.entries(TENANT_TABLE))
    for (const [role, column] of [
      ['OWNER', OWNER],
      ['ADMIN', ADMIN],
      ['MEMBER', MEMBER],
      ['AUDITOR', AUDITOR],
    ] as const)
      assert.is(tenantRoleAllows(role, permission as TenantPermission), row[column!] === 'y', `${role} ${permission}`);
});

test('the default permissions of each role on an agent are those in the API documentation', () => {
  for (const role of ['VIEWER', 'MANAGER', 'OWNER'] as const)
    assert.equal(DEFAULT_ROLE_PERMISSIONS[role].map((label) => PERMISSION_OF_LABEL[label]).sort(), [...AGENT_TABLE[role]!].sort());
  assert.is(LABELS.length, 9);
});

const share = openShare();

share.test(
  'a member has the permissions of their tenant role, of their role on the agent, and of their grant on the agent, all together',
  () =>
    fc.assert(
      fc.property(
        fc.constantFrom(null, ...TENANT_ROLES),
        fc.record({
          role: fc.constantFrom('VIEWER' as const, 'MANAGER' as const, 'OWNER' as const, 'none' as const),
          grant: fc.constantFrom('VIEWER' as const, 'EDITOR' as const, 'none' as const),
          is_admin_only: fc.boolean(),
        }),
        fc.constantFrom(...ALL_PERMISSIONS),
        (tenantRole, assigned, permission) => {
          const allowed = agentAllows(tenantWith(tenantRole), USER, agentWith(assigned), permission);
          assert.is(allowed, expected(tenantRole, assigned).includes(permission), JSON.stringify([tenantRole, assigned, permission]));
        },
      ),
      share.runsOf(2_000),
    ),
);

test('if a tenant has defined the permissions of a role itself, the members with that role have these permissions instead of the default ones', () => {
  const tenant = { ...tenantWith('MEMBER'), role_permissions: { ...DEFAULT_ROLE_PERMISSIONS, VIEWER: ['View', 'Delete agent'] as const } };
  const agent = agentWith({ role: 'VIEWER', grant: 'none', is_admin_only: false });
  assert.ok(agentAllows(tenant, USER, agent, 'agent:delete'));
  assert.not(agentAllows(tenant, USER, agent, 'agent:chat:read'));
});

test('after a user leaves the tenant and rejoins it, their earlier roles and grants on agents have no effect', () => {
  const agent = agentWith({ role: 'OWNER', grant: 'EDITOR', is_admin_only: false });
  const tenant = tenantWith('MEMBER');
  const rejoined = { ...tenant, members: { [USER]: { ...tenant.members[USER]!, since: tenant.members[USER]!.since.replace(/^0/, '9') } } };
  assert.ok(agentAllows(tenant, USER, agent, 'agent:read'));
  assert.not(agentAllows(rejoined, USER, agent, 'agent:read'));
});

test('the tenant role is null for a runner and for the platform itself, even if their id or name is the id of a member', () => {
  const tenant = tenantWith('OWNER');
  assert.is(tenantRoleOf(tenant, { kind: 'runner', agent_id: USER, tenant_id: tenant.id, key_id: 'ck' }), null);
  assert.is(tenantRoleOf(tenant, { kind: 'system', name: USER }), null);
  assert.is(tenantRoleOf(tenant, { kind: 'user', user_id: USER, key_id: null, bound_to: null, super_admin: false }), 'OWNER');
});

test.run();
