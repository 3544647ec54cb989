import type { Operation } from '../http/operation.ts';
import type { Visit } from './visit.ts';

/** Returns the permissions that an operation requires; null if every visitor may call it. */
const permissionsOf = ({ permit }: Pick<Operation, 'permit'>): readonly string[] | null => {
  if (permit === 'none' || permit === 'any') return null;
  return typeof permit === 'string' ? [permit] : permit.all;
};

const isOnAgent = (permission: string): boolean => permission.startsWith('agent:');

/** Says whether the visitor has a permission on an agent. */
export type MayOnAgent = (permission: string) => boolean;

/**
 * Returns the function that says which permissions the visitor has on an agent. If they cannot be read, the function
 * returns false for all.
 */
export const readMayOnAgent = async ({ ask, rows }: Visit, tenant_id: string, agent_id: string): Promise<MayOnAgent> => {
  const answer = await ask(rows.readEffectivePermissions, { tenant_id, agent_id });
  const allowed = answer.ok ? answer.value.permissions.filter((one) => one.allowed).map(({ id }) => String(id)) : [];
  return (permission) => allowed.includes(permission);
};

/**
 * Whether the visitor is not a member of the tenant of the page. A super-admin can be such a guest, who may read but
 * not change anything.
 */
const isGuest = ({ params, tenant }: Visit): boolean => params.tenant_id !== undefined && tenant === null;

/**
 * Whether the visitor may call an operation that changes something. Only the row's `permit` is checked. `onAgent` says
 * which permissions the visitor has on the agent.
 */
export const mayCall = (visit: Visit, row: Pick<Operation, 'permit'>, onAgent: MayOnAgent = () => false): boolean => {
  const permissions = permissionsOf(row);
  if (visit.me?.read_only || (isGuest(visit) && !permissions?.includes('platform'))) return false;
  return permissions?.every((one) => (isOnAgent(one) ? onAgent(one) : visit.may(one))) ?? true;
};

/**
 * Whether the visitor may open the form of an operation in the tenant of the page. The form of an operation on an agent
 * first asks for the agent. So the permissions on the agent cannot be checked here.
 */
export const mayOpenForm = (visit: Visit, row: Pick<Operation, 'permit'>): boolean => {
  const isAboutAgent = visit.params.tenant_id !== undefined && permissionsOf(row)?.some(isOnAgent);
  return isAboutAgent ? !visit.me?.read_only && !isGuest(visit) && visit.may('tenant:read') : mayCall(visit, row);
};

/**
 * Whether the visitor may open the deliveries of an agent. `onAgent` says which permissions they have on it; without it,
 * only visitors who may open all deliveries of the tenant may.
 */
export const mayReadDeliveries = ({ may }: Pick<Visit, 'may'>, onAgent: MayOnAgent = () => false): boolean =>
  may('tenant:integrations:read') || onAgent('agent:chat:read');

/**
 * Whether the visitor may call an operation that changes something with these path parameters. The API is asked about
 * permissions on an agent only if it is necessary.
 */
export const mayRun = async (visit: Visit, row: Pick<Operation, 'permit'>, params: Readonly<Record<string, string>>): Promise<boolean> => {
  const isAboutAgent = permissionsOf(row)?.some(isOnAgent) ?? false;
  const { tenant_id, agent_id } = params;
  const isAsked = isAboutAgent && tenant_id && agent_id && !visit.me?.read_only;
  if (isAboutAgent && tenant_id && !agent_id) return mayOpenForm(visit, row);
  return mayCall(visit, row, isAsked ? await readMayOnAgent(visit, tenant_id, agent_id) : undefined);
};
