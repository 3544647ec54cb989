import type { Operation } from '../http/operation.ts';
import type { Visit } from './visit.ts';

/** Returns the permissions that an operation requires; null if any visitor may call it. */
const permissionsOf = ({ permit }: Pick<Operation, 'permit'>): readonly string[] | null => {
  if (permit === 'none' || permit === 'any') return null;
  return typeof permit === 'string' ? [permit] : permit.all;
};

const isOnAgent = (permission: string): boolean => permission.startsWith('agent:');

/** Whether a visitor has a permission on an agent. */
export type MayOnAgent = (permission: string) => boolean;

/**
 * Returns the function that decides which permissions the visitor has on an agent. They have none if the API refuses to
 * return them.
 */
export const readMayOnAgent = async ({ ask, rows }: Visit, tenant_id: string, agent_id: string): Promise<MayOnAgent> => {
  const answer = await ask(rows.readEffectivePermissions, { tenant_id, agent_id });
  const allowed = answer.ok ? answer.value.permissions.filter((one) => one.allowed).map(({ id }) => String(id)) : [];
  return (permission) => allowed.includes(permission);
};

/** Whether the page is of a tenant of which the visitor is no member: a super-admin can read there, but change nothing. */
const isGuest = ({ params, tenant }: Visit): boolean => params.tenant_id !== undefined && tenant === null;

/**
 * Whether the visitor may call an operation that changes something, as far as its row determines this. `onAgent`
 * decides about the permissions on the agent.
 */
export const mayCall = (visit: Visit, row: Pick<Operation, 'permit'>, onAgent: MayOnAgent = () => false): boolean => {
  const permissions = permissionsOf(row);
  if (visit.me?.read_only || (isGuest(visit) && !permissions?.includes('platform'))) return false;
  return permissions?.every((one) => (isOnAgent(one) ? onAgent(one) : visit.may(one))) ?? true;
};

/**
 * Whether the visitor may call such an operation with these path parameters. Asks the API about an agent only if this
 * is necessary.
 */
export const mayRun = async (visit: Visit, row: Pick<Operation, 'permit'>, params: Readonly<Record<string, string>>): Promise<boolean> => {
  const isAboutAgent = permissionsOf(row)?.some(isOnAgent) ?? false;
  const { tenant_id, agent_id } = params;
  const isAsked = isAboutAgent && tenant_id && agent_id && !visit.me?.read_only;
  // If no agent is given yet, its permissions cannot be checked: the form first asks for the agent.
  if (isAboutAgent && tenant_id && !agent_id) return !visit.me?.read_only && visit.may('tenant:read');
  return mayCall(visit, row, isAsked ? await readMayOnAgent(visit, tenant_id, agent_id) : undefined);
};
