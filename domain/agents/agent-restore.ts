import { changedFields, jsonEqual } from '../aggregate.ts';
import { Refusal } from '../refusal.ts';
import { type Agent, type AgentEvent, assertExists, type Restorable } from './agent.ts';
import { linkOf } from './agent-models.ts';
import { explicitOwners, type Members, revokeLapsedRole } from './agent-roles.ts';
import { plainSettingsOf } from './plain-settings.ts';

/** If no OWNER of the agent is still a member, `restored_by` becomes one. @throws Refusal not_found, conflict if its slug is taken */
export const undelete = (agent: Agent, members: Members, restored_by: string | null): AgentEvent[] => {
  if (agent.status === 'absent') throw new Refusal('not_found', 'There is no such agent');
  if (agent.status === 'released') throw new Refusal('conflict', 'Another agent uses the slug now: this agent cannot be restored');
  if (agent.status === 'live') return [];
  const owner = restored_by && members[restored_by] && explicitOwners(agent, members).length === 0 ? restored_by : null;
  const assigned: AgentEvent[] = owner
    ? [...revokeLapsedRole(agent, members, owner), { type: 'AgentRoleAssigned', data: { user_id: owner, role: 'OWNER' } }]
    : [];
  return [{ type: 'AgentRestored', data: { of_revision: null } }, ...assigned];
};

const restorableFields = (agent: Agent): Restorable => {
  const { name, external_mail_enabled, repo_url, code_ref, hourly_limit_micros } = agent;
  return { ...plainSettingsOf(agent), name, external_mail_enabled, repo_url, code_ref, hourly_limit_micros };
};

/** `earlier` is the state at the revision `of_revision`. Roles and grants stay as they are. @throws Refusal not_found */
export const restore =
  (earlier: Agent, of_revision: number) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    const fields = changedFields(agent, restorableFields(earlier));
    const models = jsonEqual(earlier.models, agent.models) ? {} : { models: earlier.models.map(linkOf) };
    const data = { of_revision, ...fields, ...models };
    return Object.keys(data).length > 1 ? [{ type: 'AgentRestored', data }] : [];
  };
