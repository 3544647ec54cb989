import { changedFields, jsonEqual } from '../aggregate.ts';
import { Refusal } from '../refusal.ts';
import { type Agent, type AgentEvent, assertExists, type Restorable } from './agent.ts';
import { explicitOwners, type Members, revokeLapsedRole } from './agent-roles.ts';

/**
 * Brings a deleted agent back. Where all who owned it have left the tenant meanwhile, the member who brings it back does.
 * @throws Refusal not_found, conflict where its slug was taken again
 */
export const undelete = (agent: Agent, members: Members, by: string | null): AgentEvent[] => {
  if (agent.status === 'absent') throw new Refusal('not_found', 'there is no such agent');
  if (agent.status === 'released') throw new Refusal('conflict', 'the slug was taken again: this agent can not come back');
  if (agent.status === 'live') return [];
  const owner = by && members[by] && explicitOwners(agent, members).length === 0 ? by : null;
  const owned: AgentEvent[] = owner
    ? [...revokeLapsedRole(agent, members, owner), { type: 'AgentRoleAssigned', data: { user_id: owner, role: 'OWNER' } }]
    : [];
  return [{ type: 'AgentRestored', data: { of_revision: null } }, ...owned];
};

const restorable = (agent: Agent): Restorable => {
  const { name, description, description_prompt, environment_mode, image_ref, initial_greeting, iteration_warn_threshold } = agent;
  const { resource_class, voice, external_mail_enabled, repo_url, code_ref } = agent;
  return {
    name,
    description,
    description_prompt,
    environment_mode,
    image_ref,
    initial_greeting,
    iteration_warn_threshold,
    resource_class,
    voice,
    external_mail_enabled,
    repo_url,
    code_ref,
  };
};

/** Gives the settings and the model chain back that the agent had at a revision; never who may do what. @throws Refusal not_found */
export const restore =
  (then: Agent, of_revision: number) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    const fields = changedFields(agent, restorable(then));
    const models = jsonEqual(then.models, agent.models)
      ? {}
      : { models: then.models.map(({ created_at, ...model }) => ({ ...model, since: created_at })) };
    const data = { of_revision, ...fields, ...models };
    return Object.keys(data).length > 1 ? [{ type: 'AgentRestored', data }] : [];
  };
