import type { Operation } from '../http/operation.ts';
import type { Visit } from './visit.ts';

/** The permissions of an operation; null if any visitor may call it. */
const permissionsOf = ({ permit }: Pick<Operation, 'permit'>): readonly string[] | null => {
  if (permit === 'none' || permit === 'any') return null;
  return typeof permit === 'string' ? [permit] : permit.all;
};

const isOnAgent = (permission: string): boolean => permission.startsWith('agent:');

/** Whether a visitor has a permission on an agent. */
export type MayOnAgent = (permission: string) => boolean;

/** What the visitor may do with an agent, as the API says. Nothing if the API refuses to say it. */
export const readMayOnAgent = async ({ ask, rows }: Visit, tenant_id: string, agent_id: string): Promise<MayOnAgent> => {
  const answer = await ask(rows.readEffectivePermissions, { tenant_id, agent_id });
  const allowed = answer.ok ? answer.value.permissions.filter((one) => one.allowed).map(({ id }) => String(id)) : [];
  return (permission) => allowed.includes(permission);
};

/** Whether the visitor may call a change, as far as the row tells. `onAgent` decides the permissions on the agent. */
export const mayCall = (visit: Visit, row: Pick<Operation, 'permit'>, onAgent: MayOnAgent = () => false): boolean => {
  if (visit.me?.read_only) return false;
  return permissionsOf(row)?.every((one) => (isOnAgent(one) ? onAgent(one) : visit.may(one))) ?? true;
};

/** Whether the visitor may call a change with these path parameters. Asks the API about an agent only if it must. */
export const mayRun = async (visit: Visit, row: Pick<Operation, 'permit'>, params: Readonly<Record<string, string>>): Promise<boolean> => {
  const isAboutAgent = permissionsOf(row)?.some(isOnAgent) ?? false;
  const { tenant_id, agent_id } = params;
  const isAsked = isAboutAgent && tenant_id && agent_id && !visit.me?.read_only;
  // Without the agent nothing can be asked yet: the form first asks which agent is meant.
  if (isAboutAgent && tenant_id && !agent_id) return !visit.me?.read_only && visit.may('tenant:read');
  return mayCall(visit, row, isAsked ? await readMayOnAgent(visit, tenant_id, agent_id) : undefined);
};
