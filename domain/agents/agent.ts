import { type EventRef, type Recorded, sortKey } from '../event.ts';
import { type ById, type Transient, withEntry, withoutEntry } from '../immutable-record.ts';
import { Refusal } from '../refusal.ts';
import type { SlackConfig } from '../slack/slack-config.ts';
import { type AgentCredentialEvent, type AgentCredentials, applyCredentialEvent, noCredentials } from './credential-grants.ts';
import { type AgentModel, type ChainLink, modelsOf } from './model-chain.ts';
import { type AgentSettings, defaults, type FirstEvent, type SkillVisibilityScope, settingsOf } from './new-agent.ts';
import type { AgentRole, GrantRole } from './role-permissions.ts';
import { type AgentSkillEvent, type AgentSkills, applySkillEvent, noSkills } from './skill-grants.ts';
import { type AgentToolEvent, type AgentTools, applyToolEvent, noTools } from './tool-grants.ts';

export type { AgentModel, ChainLink, ModelAccess } from './model-chain.ts';
export { modelsOf } from './model-chain.ts';
export type { AgentSettings, SkillVisibilityScope } from './new-agent.ts';
export { AGENT_KINDS, AgentName, defaults, SKILL_VISIBILITY_SCOPES } from './new-agent.ts';

export const category = 'agent';

/** Per hour, in micro-dollars; null: no limit. */
export type Budget = { hourly_limit_micros: number | null };

export type AgentEvent =
  | FirstEvent
  | {
      type: 'AgentUpdated';
      data: Partial<Omit<AgentSettings, 'can_author_skills' | 'is_admin_only' | 'kind'>> & {
        external_mail_enabled?: boolean;
        ssh_public_key?: string | null;
      };
    }
  | { type: 'AgentActivated'; data: object }
  | { type: 'AgentDeactivated'; data: object }
  | { type: 'AgentSkillAuthoringChanged'; data: { can_author_skills: boolean } }
  | { type: 'AgentSkillVisibilityScopeChanged'; data: { skill_visibility_scope: SkillVisibilityScope } }
  | { type: 'AgentBudgetChanged'; data: Budget }
  | { type: 'AgentRepoLinked'; data: Pick<Agent, 'repo_url' | 'code_ref'> }
  | { type: 'AgentCodeRefPinned'; data: Pick<Agent, 'code_ref'> }
  | { type: 'AgentAdminOnlyChanged'; data: { is_admin_only: boolean } }
  | { type: 'AgentModelChainReordered'; data: { models: readonly ChainLink[] } }
  | { type: 'AgentModelGranted'; data: { model_id: string; models: readonly ChainLink[] } }
  | { type: 'AgentModelRevoked'; data: { model_id: string; models: readonly ChainLink[] } }
  | AgentSkillEvent
  | AgentToolEvent
  | AgentCredentialEvent
  | { type: 'AgentRoleAssigned'; data: { user_id: string; role: AgentRole } }
  | { type: 'AgentRoleRevoked'; data: { user_id: string } }
  | { type: 'AgentOwnershipTransferred'; data: { new_owner_id: string; old_owner_ids: readonly string[] } }
  | { type: 'AgentAccessGranted'; data: { user_id: string; role: GrantRole } }
  | { type: 'AgentAccessRevoked'; data: { user_id: string } }
  | { type: 'AgentDeleted'; data: object }
  | { type: 'AgentRestored'; data: { of_revision: number | null; models?: readonly ChainLink[] } & Partial<Restorable> }
  | { type: 'AgentSlugReleased'; data: object };

/** By user id. `by`: the event that assigned the role; `since`: the sort key of its position. */
export type RoleAssignments<Role> = ById<{ role: Role; created_at: string; updated_at: string; since: string; by: EventRef }>;

type AgentParts = AgentSettings & AgentSkills & AgentTools & AgentCredentials;

export type Agent = AgentParts & {
  /** `released`: deleted, and can no longer be restored because its slug is free for another agent. */
  status: 'absent' | 'live' | 'deleted' | 'released';
  id: string;
  tenant_id: string;
  slug: string;
  is_active: boolean;
  is_seed: boolean;
  external_mail_enabled: boolean;
  ssh_public_key: string | null;
  skill_visibility_scope: SkillVisibilityScope;
  hourly_limit_micros: number | null;
  repo_url: string | null;
  code_ref: string;
  zoom_managed: boolean;
  created_by_id: string | null;
  created_by_agent_id: string | null;
  models: readonly AgentModel[];
  /** The settings of the cloned agent, until this agent's own Slack settings are changed. Null if this agent is not a clone. */
  inherited_slack_config: SlackConfig | null;
  /** The last event that turned the restriction to admins on or off. */
  admin_only_by: EventRef | null;
  roles: RoleAssignments<AgentRole>;
  grants: RoleAssignments<GrantRole>;
  created_at: string;
  updated_at: string;
};

/** The settings that a restore to an earlier revision sets, in addition to the model chain. */
export type Restorable = Omit<AgentSettings, 'can_author_skills' | 'is_admin_only' | 'kind'> &
  Pick<Agent, 'external_mail_enabled' | 'repo_url' | 'code_ref' | 'hourly_limit_micros'>;

export const initial: Agent = {
  ...defaults,
  ...noSkills,
  ...noTools,
  ...noCredentials,
  status: 'absent',
  id: '',
  tenant_id: '',
  name: '',
  slug: '',
  is_active: true,
  is_seed: false,
  external_mail_enabled: true,
  ssh_public_key: null,
  skill_visibility_scope: 'private_only',
  hourly_limit_micros: null,
  repo_url: null,
  code_ref: 'main',
  zoom_managed: false,
  created_by_id: null,
  created_by_agent_id: null,
  models: [],
  inherited_slack_config: null,
  admin_only_by: null,
  roles: {},
  grants: {},
  created_at: '',
  updated_at: '',
};

const eventRef = ({ event_id, type, at }: Recorded): EventRef => ({ event_id, type, at });

type Assignment<Role> = { readonly user_id: string; readonly role: Role };

const withAssignment = <Role>(
  assignments: RoleAssignments<Role>,
  { user_id, role }: Assignment<Role>,
  event: Recorded,
  transient?: Transient,
): RoleAssignments<Role> => {
  const { at, position } = event;
  const created_at = assignments[user_id]?.created_at ?? at;
  return withEntry(assignments, user_id, { role, created_at, updated_at: at, since: sortKey(position), by: eventRef(event) }, transient);
};

type OwnershipTransferred = Recorded<Extract<AgentEvent, { type: 'AgentOwnershipTransferred' }>>;

const transferOwnership = ({ roles }: Agent, event: OwnershipTransferred, transient?: Transient): RoleAssignments<AgentRole> => {
  const demoted = event.data.old_owner_ids.reduce(
    (roles, user_id) => withAssignment(roles, { user_id, role: 'MANAGER' as const }, event, transient),
    roles,
  );
  return withAssignment(demoted, { user_id: event.data.new_owner_id, role: 'OWNER' }, event, transient);
};

type LaterEvent = Exclude<AgentEvent, FirstEvent>;

const created = (agent: Agent, event: Recorded<FirstEvent>): Agent => {
  const { id, tenant, at, actor, data } = event;
  const { owner_id } = data;
  return {
    ...agent,
    ...settingsOf(event),
    status: 'live',
    id,
    tenant_id: tenant,
    admin_only_by: data.is_admin_only ? eventRef(event) : null,
    roles: owner_id ? withAssignment({}, { user_id: owner_id, role: 'OWNER' }, event) : {},
    created_by_id: actor.kind === 'user' ? actor.id : null,
    created_by_agent_id: actor.kind === 'agent' ? actor.id : null,
    created_at: at,
    updated_at: at,
  };
};

const applyEvent = (agent: Agent, event: Recorded<LaterEvent>, transient?: Transient): Partial<Agent> => {
  switch (event.type) {
    case 'AgentUpdated':
    case 'AgentSkillAuthoringChanged':
    case 'AgentSkillVisibilityScopeChanged':
    case 'AgentBudgetChanged':
    case 'AgentRepoLinked':
    case 'AgentCodeRefPinned':
      return event.data;
    case 'AgentAdminOnlyChanged':
      return { ...event.data, admin_only_by: eventRef(event) };
    case 'AgentActivated':
      return { is_active: true };
    case 'AgentDeactivated':
      return { is_active: false };
    case 'AgentModelChainReordered':
    case 'AgentModelGranted':
    case 'AgentModelRevoked':
      return { models: modelsOf(event.data.models, event.at) };
    case 'AgentSkillGranted':
    case 'AgentSkillRevoked':
    case 'AgentSkillConfigReplaced':
    case 'AgentSkillConfigResealed':
    case 'AgentSkillConfigCleared':
    case 'AgentSkillPermissionsReplaced':
      return applySkillEvent(agent, event, transient);
    case 'AgentToolGranted':
    case 'AgentToolRevoked':
      return applyToolEvent(agent, event, transient);
    case 'AgentCredentialGiven':
    case 'AgentCredentialTaken':
      return applyCredentialEvent(agent, event, transient);
    case 'AgentRoleAssigned':
      return { roles: withAssignment(agent.roles, event.data, event, transient) };
    case 'AgentRoleRevoked':
      return { roles: withoutEntry(agent.roles, event.data.user_id, transient) };
    case 'AgentOwnershipTransferred':
      return { roles: transferOwnership(agent, event as OwnershipTransferred, transient) };
    case 'AgentAccessGranted':
      return { grants: withAssignment(agent.grants, event.data, event, transient) };
    case 'AgentAccessRevoked':
      return { grants: withoutEntry(agent.grants, event.data.user_id, transient) };
    case 'AgentRestored': {
      const { of_revision: _, models, ...fields } = event.data;
      return { ...fields, ...(models ? { models: modelsOf(models, event.at) } : {}), status: 'live' };
    }
    case 'AgentDeleted':
      return { status: 'deleted', ...noCredentials };
    case 'AgentSlugReleased':
      return { status: 'released' };
  }
};

export const evolve = (agent: Agent, event: Recorded<AgentEvent>, transient?: Transient): Agent =>
  event.type === 'AgentCreated' || event.type === 'AgentCloned'
    ? created(agent, event as Recorded<FirstEvent>)
    : { ...agent, ...applyEvent(agent, event as Recorded<LaterEvent>, transient), updated_at: event.at };

/** @throws Refusal not_found if it does not exist or is deleted */
export const assertExists = (agent: Agent): void => {
  if (agent.status !== 'live') throw new Refusal('not_found', 'There is no such agent');
};

export const create = (data: Extract<AgentEvent, { type: 'AgentCreated' }>['data']) => (): AgentEvent[] => [{ type: 'AgentCreated', data }];

/** The deleted agent can then no longer be restored. */
export const releaseSlug = (): AgentEvent[] => [{ type: 'AgentSlugReleased', data: {} }];

/** The agent can be restored until another agent uses its slug. It loses the tenant's credentials. @throws Refusal not_found */
export const remove = (agent: Agent): AgentEvent[] => {
  assertExists(agent);
  return [{ type: 'AgentDeleted', data: {} }];
};
