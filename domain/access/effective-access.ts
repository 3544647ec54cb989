import * as Agent from '../agents/agent.ts';
import { assignRole, effectiveRole, grant, revokeGrant, revokeRole } from '../agents/agent-roles.ts';
import type { AgentLabel, AgentRole, GrantRole, RolePermissions } from '../agents/role-permissions.ts';
import { fold } from '../aggregate.ts';
import type { DomainEvent, Recorded } from '../event.ts';
import { invalid } from '../refusal.ts';
import { add, changeRole, remove } from '../tenants/member.ts';
import * as Tenant from '../tenants/tenant.ts';
import type { TenantRole } from '../tenants/tenant-role.ts';
import { changeRolePermissions, effectivePermissions } from './permission.ts';

/** The roles and the grant that give a member access to an agent, and the labels of the resulting permissions. */
export type EffectiveAccess = {
  readonly user_id: string;
  readonly agent_id: string;
  readonly tenant_role: TenantRole;
  readonly role: AgentRole | null;
  readonly grant: GrantRole | null;
  readonly labels: readonly AgentLabel[];
};

const labelsOf = (tenant: Tenant.Tenant, user_id: string, agent: Agent.Agent): AgentLabel[] =>
  agent.status === 'live' ? effectivePermissions(tenant, user_id, agent).flatMap(({ label, allowed }) => (allowed ? [label] : [])) : [];

export const effectiveAccess = (tenant: Tenant.Tenant, user_id: string, agent: Agent.Agent): EffectiveAccess => ({
  user_id,
  agent_id: agent.id,
  tenant_role: tenant.members[user_id]!.role,
  role: effectiveRole(agent.roles, tenant.members, user_id)?.role ?? null,
  grant: effectiveRole(agent.grants, tenant.members, user_id)?.role ?? null,
  labels: labelsOf(tenant, user_id, agent),
});

/** One member's role in the tenant, role or grant on an agent, or the agent roles' permissions (`grid`). Null removes; undefined keeps. */
export type AccessChange = {
  readonly user_id?: string | undefined;
  readonly agent_id?: string | undefined;
  readonly tenant_role?: TenantRole | null | undefined;
  readonly role?: AgentRole | null | undefined;
  readonly grant?: GrantRole | null | undefined;
  readonly grid?: Partial<RolePermissions> | undefined;
};

export type AccessDifference = {
  readonly user_id: string;
  readonly agent_id: string;
  readonly gained: readonly AgentLabel[];
  readonly lost: readonly AgentLabel[];
};

/** A tenant, and those of its agents (by id) that the previewed changes may affect. */
export type AccessState = { readonly tenant: Tenant.Tenant; readonly agents: Readonly<Record<string, Agent.Agent>> };

/** Above every log position, so that the previewed assignments are newer than every membership, and therefore have an effect. */
const AFTER_ALL = 10n ** 18n;

/** Returns the event as the log would return it; for the preview only, never stored. */
const asRecorded = <E extends DomainEvent>(event: E, index: number, at: string): Recorded<E> => ({
  ...event,
  event_id: `preview-${index}`,
  stream: '',
  category: '',
  tenant: '',
  id: '',
  revision: index,
  position: { commit: AFTER_ALL + BigInt(index), prepare: AFTER_ALL + BigInt(index) },
  at,
  actor: { kind: 'system', id: 'preview' },
  meta: { tenant: '', actor: { kind: 'system', id: 'preview' }, at, v: 1 },
});

type Preview = { readonly at: string; readonly callerRole: TenantRole };

const onTenant = (state: AccessState, events: readonly Tenant.TenantEvent[], index: number, { at }: Preview): AccessState => ({
  ...state,
  tenant: fold(
    Tenant,
    events.map((event, part) => asRecorded(event, index * 10 + part, at)),
    state.tenant,
  ),
});

const onAgent = (
  state: AccessState,
  agent: Agent.Agent,
  events: readonly Agent.AgentEvent[],
  { index, at }: { readonly index: number; readonly at: string },
): AccessState => ({
  ...state,
  agents: {
    ...state.agents,
    [agent.id]: fold(
      Agent,
      events.map((event, part) => asRecorded(event, index * 10 + part, at)),
      agent,
    ),
  },
});

const decideTenantRole = ({ tenant, agents }: AccessState, user_id: string, role: TenantRole | null, callerRole: TenantRole) => {
  if (role === null) return remove(user_id, callerRole, Object.values(agents))(tenant);
  return tenant.members[user_id] ? changeRole(user_id, role, callerRole)(tenant) : add(user_id, role, callerRole)(tenant);
};

const withTenantRole = (state: AccessState, { user_id, tenant_role }: AccessChange, index: number, preview: Preview): AccessState =>
  tenant_role === undefined ? state : onTenant(state, decideTenantRole(state, user_id!, tenant_role, preview.callerRole), index, preview);

const withGrid = (state: AccessState, { grid }: AccessChange, index: number, preview: Preview): AccessState =>
  grid === undefined ? state : onTenant(state, changeRolePermissions(grid)(state.tenant), index, preview);

const withRole = (state: AccessState, { user_id, agent_id, role }: AccessChange, index: number, { at }: Preview): AccessState => {
  if (role === undefined) return state;
  const agent = state.agents[agent_id!]!;
  const { members } = state.tenant;
  const decide = role === null ? revokeRole(user_id!, members) : assignRole(user_id!, role, members);
  return onAgent(state, agent, decide(agent), { index, at });
};

const withGrant = (state: AccessState, change: AccessChange, index: number, { at }: Preview): AccessState => {
  const { user_id, agent_id, grant: role } = change;
  if (role === undefined) return state;
  const agent = state.agents[agent_id!]!;
  const { members } = state.tenant;
  const decide = role === null ? revokeGrant(user_id!, members) : grant(user_id!, role, members);
  return onAgent(state, agent, decide(agent), { index, at });
};

const STEPS = [withTenantRole, withGrid, withRole, withGrant];

/** Appends no event. @throws Refusal of the operation that would refuse the change */
const applyChanges = (state: AccessState, changes: readonly AccessChange[], preview: Preview): AccessState => {
  let after = state;
  changes.forEach((change, index) => {
    STEPS.forEach((step, part) => {
      after = step(after, change, index * STEPS.length + part, preview);
    });
  });
  return after;
};

/** @throws Refusal invalid if a change lacks the user, agent or both that its kind requires */
export const assertComplete = (changes: readonly AccessChange[]): void =>
  changes.forEach(({ user_id, agent_id, tenant_role, role, grant: granted, grid }, index) => {
    const ofAgent = role !== undefined || granted !== undefined;
    if (user_id === undefined && (ofAgent || tenant_role !== undefined))
      throw invalid(`/${index}/user_id`, 'is needed for a role or a grant', 'missing_field');
    if (agent_id === undefined && ofAgent)
      throw invalid(`/${index}/agent_id`, 'is needed for a role or a grant on an agent', 'missing_field');
    if (!ofAgent && tenant_role === undefined && grid === undefined)
      throw invalid(`/${index}`, 'changes nothing: name a tenant_role, role, grant or grid', 'missing_field');
  });

const differencesOn = (before: AccessState, after: AccessState, user_id: string, agent_id: string): AccessDifference[] => {
  const [old, next] = [before, after].map(({ tenant, agents }) => labelsOf(tenant, user_id, agents[agent_id]!));
  const gained = next!.filter((label) => !old!.includes(label));
  const lost = old!.filter((label) => !next!.includes(label));
  return gained.length + lost.length > 0 ? [{ user_id, agent_id, gained, lost }] : [];
};

/** Appends no event. @throws Refusal of the operation that would refuse a change */
export const previewAccess = (before: AccessState, changes: readonly AccessChange[], preview: Preview): AccessDifference[] => {
  const after = applyChanges(before, changes, preview);
  const users = [...new Set([...Object.keys(before.tenant.members), ...Object.keys(after.tenant.members)])].sort();
  const agents = Object.keys(before.agents).sort();
  return agents.flatMap((agent_id) => users.flatMap((user_id) => differencesOn(before, after, user_id, agent_id)));
};
