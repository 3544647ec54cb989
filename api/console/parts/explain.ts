import type { z } from 'zod';
import type { EffectiveAccess as AccessSchema } from '../../agents/effective-access.ts';

export type Access = z.output<typeof AccessSchema>;
export type Label = Access['labels'][number];
export type AgentRole = NonNullable<Access['role']>;
export type GrantRole = NonNullable<Access['grant']>;

/** The labels of the permissions that each role on agents has. */
export type Grid = Readonly<Record<string, readonly string[]>>;

/**
 * A step in the explanation why a member has a permission or lacks it. `gives` says whether the permission comes from
 * this step.
 */
export type Step = { readonly name: string; readonly value: string; readonly gives: boolean };

/**
 * A change that would give a permission to a member. `change` is set if it is a change of one role or grant; for any
 * other kind of change, it is null.
 */
export type Way = {
  readonly text: string;
  readonly change: { readonly role: AgentRole } | { readonly grant: GrantRole } | { readonly tenant_role: 'ADMIN' } | null;
};

const GRANTS: Readonly<Record<GrantRole, AgentRole>> = { VIEWER: 'VIEWER', EDITOR: 'MANAGER' };
const ROLES: readonly AgentRole[] = ['VIEWER', 'MANAGER', 'OWNER'];

const includes = (grid: Grid, role: string, label: Label): boolean => grid[role]?.includes(label) ?? false;

const gridStep = (roles: readonly AgentRole[], label: Label, grid: Grid): Step => {
  const has = roles.filter((one) => includes(grid, one, label));
  const value = roles.length === 0 ? 'no role to look up' : has.length > 0 ? `${has[0]} may` : `${roles.join(' and ')} may not`;
  return { name: 'Grid', value, gives: has.length > 0 };
};

/**
 * Returns the steps of the explanation, in order: the role in the tenant, the role on the agent, the grant on the
 * agent, and the permissions of these roles.
 */
export const chainOf = ({ tenant_role, role, grant }: Access, label: Label, grid: Grid): readonly Step[] => {
  const isAdmin = tenant_role === 'OWNER' || tenant_role === 'ADMIN';
  return [
    { name: 'Role in the tenant', value: tenant_role, gives: isAdmin || (tenant_role === 'AUDITOR' && label === 'View') },
    { name: 'Role on the agent', value: role ?? 'none', gives: role !== null && includes(grid, role, label) },
    { name: 'Grant on the agent', value: grant ?? 'none', gives: grant !== null && includes(grid, GRANTS[grant], label) },
    gridStep([...new Set([role, grant && GRANTS[grant]].filter((one) => one !== null))], label, grid),
  ];
};

/** Returns the smallest changes that would give a permission to a member, the smallest first. */
export const waysTo = (
  { role, grant }: Access,
  label: Label,
  { grid, isAdminOnly }: { grid: Grid; isAdminOnly: boolean },
): readonly Way[] => {
  const admin: Way = { text: 'Make the member ADMIN of the tenant', change: { tenant_role: 'ADMIN' } };
  if (isAdminOnly) return [{ text: 'Make the agent available to other members, too', change: null }, admin];
  const grants = (Object.keys(GRANTS) as GrantRole[]).filter((one) => includes(grid, GRANTS[one], label));
  const roles = ROLES.filter((one) => includes(grid, one, label));
  const current = role ?? (grant && GRANTS[grant]);
  return [
    ...grants.slice(0, 1).map((one): Way => ({ text: `Grant the access ${one}`, change: { grant: one } })),
    ...roles.slice(0, 1).map((one): Way => ({ text: `Give the role ${one} on the agent`, change: { role: one } })),
    ...(current ? [{ text: `Add “${label}” to the role ${current} in the grid, for all members with it`, change: null }] : []),
    admin,
  ];
};
