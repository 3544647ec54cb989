import * as Agent from '../../domain/agents/agent.ts';
import type { ChainLink } from '../../domain/agents/model-chain.ts';
import type { ClonedAgent } from '../../domain/agents/new-agent.ts';
import type { SkillPermissionEntry } from '../../domain/agents/skill-grants.ts';
import { omit } from '../../domain/omit.ts';
import { type AuditOf, allFields, SECRET } from '../audit-record.ts';
import type { Row } from '../projection.ts';

type NewAgent = { readonly owner_id: string | null; readonly generation: number };

const newAgent = ({ owner_id, generation: _, ...fields }: NewAgent): Row => ({
  ...fields,
  is_active: true,
  deleted: false,
  ...(owner_id ? { [`roles/${owner_id}`]: 'OWNER' } : {}),
});

const modelsOf = ({ models }: { readonly models?: readonly ChainLink[] }): Row =>
  models ? { models: models.map(({ model_id, access }) => ({ model_id, access })) } : {};

const permissionsOf = (permissions: readonly SkillPermissionEntry[]): Row => ({
  skill_permissions: permissions.map((permission) => omit(permission, 'since')),
});

const clonedAgent = (cloned: ClonedAgent): Row => {
  const { models, skills, tools, skill_permissions, ...fields } = omit(cloned, 'source_id', 'source_revision', 'slack_config');
  return {
    can_author_skills: Agent.initial.can_author_skills,
    ...newAgent(fields),
    ...modelsOf({ models }),
    ...Object.fromEntries(skills.map(({ skill_id, ...skill }) => [`skills/${skill_id}`, skill])),
    ...Object.fromEntries(tools.map(({ tool_id, ...grant }) => [`tools/${tool_id}`, grant])),
    ...permissionsOf(skill_permissions),
  };
};

type Assignment = { readonly user_id: string; readonly role?: string | null };
const roleIn =
  (list: 'roles' | 'grants') =>
  ({ user_id, role = null }: Assignment): Row => ({ [`${list}/${user_id}`]: role });

export const agentAudit = {
  AgentCreated: {
    summary: 'created the agent {resource}',
    activity: 'create',
    first: true,
    fields: (fields) => {
      const { external_mail_enabled, code_ref } = Agent.initial;
      return { external_mail_enabled, code_ref, ...newAgent(fields) };
    },
  },
  AgentCloned: {
    summary: 'created the agent {resource} as a copy of the agent {source_id}',
    activity: 'create',
    first: true,
    fields: clonedAgent,
  },
  AgentUpdated: { summary: 'changed {fields} of the agent {resource}', activity: 'update', fields: allFields },
  AgentActivated: { summary: 'activated the agent {resource}', activity: 'update', fields: () => ({ is_active: true }) },
  AgentDeactivated: { summary: 'deactivated the agent {resource}', activity: 'update', fields: () => ({ is_active: false }) },
  AgentSkillAuthoringChanged: { summary: 'changed whether the agent {resource} may author skills', activity: 'update', fields: allFields },
  AgentSkillVisibilityScopeChanged: {
    summary: 'changed who sees the skills that the agent {resource} writes',
    activity: 'update',
    fields: allFields,
  },
  AgentBudgetChanged: { summary: 'changed the budget of the agent {resource}', activity: 'update', fields: allFields },
  AgentRepoLinked: { summary: 'changed the repository of the agent {resource}', activity: 'update', fields: allFields },
  AgentCodeRefPinned: { summary: 'pinned the agent {resource} to {code_ref}', activity: 'update', fields: allFields },
  AgentAdminOnlyChanged: { summary: 'changed whether only admins see the agent {resource}', activity: 'update', fields: allFields },
  AgentModelChainReordered: { summary: 'changed the model chain of the agent {resource}', activity: 'update', fields: modelsOf },
  AgentModelGranted: { summary: 'added the model {model_id} to the chain of the agent {resource}', activity: 'create', fields: modelsOf },
  AgentModelRevoked: {
    summary: 'removed the model {model_id} from the chain of the agent {resource}',
    activity: 'delete',
    fields: modelsOf,
  },
  AgentRoleAssigned: {
    summary: 'gave {person} the role {role} on the agent {resource}',
    activity: 'assign_privileges',
    severity: 'low',
    fields: roleIn('roles'),
  },
  AgentRoleRevoked: {
    summary: 'revoked the role of {person} on the agent {resource}',
    activity: 'revoke_privileges',
    severity: 'low',
    fields: roleIn('roles'),
  },
  AgentOwnershipTransferred: {
    summary: 'made {person} the owner of the agent {resource}',
    activity: 'assign_privileges',
    privilege: 'OWNER',
    severity: 'low',
    fields: ({ new_owner_id, old_owner_ids }) => ({
      ...Object.fromEntries(old_owner_ids.map((id) => [`roles/${id}`, 'MANAGER'])),
      [`roles/${new_owner_id}`]: 'OWNER',
    }),
  },
  AgentAccessGranted: {
    summary: 'granted {person} the access {role} to the agent {resource}',
    activity: 'assign_privileges',
    severity: 'low',
    fields: roleIn('grants'),
  },
  AgentAccessRevoked: {
    summary: 'revoked the access of {person} to the agent {resource}',
    activity: 'revoke_privileges',
    severity: 'low',
    fields: roleIn('grants'),
  },
  AgentDeleted: { summary: 'deleted the agent {resource}', activity: 'delete', severity: 'low', fields: () => ({ deleted: true }) },
  AgentRestored: {
    summary: 'restored the agent {resource}',
    activity: 'update',
    fields: ({ of_revision: _, models, ...fields }) => ({ ...fields, ...modelsOf({ models }), deleted: false }),
  },
  AgentSlugReleased: { summary: 'released the slug of the deleted agent {resource}', activity: 'delete' },
  AgentSkillGranted: {
    summary: 'gave the skill {skill} to the agent {resource}',
    activity: 'create',
    fields: ({ skill_id, is_enabled }) => ({ [`skills/${skill_id}`]: { is_enabled } }),
  },
  AgentSkillRevoked: {
    summary: 'took the skill {skill} from the agent {resource}',
    activity: 'delete',
    fields: ({ skill_id }) => ({ [`skills/${skill_id}`]: null, [`skill_configs/${skill_id}`]: null }),
  },
  AgentSkillConfigReplaced: {
    summary: 'replaced the configuration of the skill {skill} of the agent {resource}',
    activity: 'update',
    fields: ({ skill_id }) => ({ [`skill_configs/${skill_id}`]: SECRET }),
  },
  AgentSkillConfigResealed: {
    summary: 'encrypted the configuration of the skill {skill} of the agent {resource} with a new data key',
    activity: 'update',
  },
  AgentSkillConfigCleared: {
    summary: 'cleared the configuration of the skill {skill} of the agent {resource}',
    activity: 'update',
    fields: ({ skill_id }) => ({ [`skill_configs/${skill_id}`]: null }),
  },
  AgentSkillPermissionsReplaced: {
    summary: 'replaced the permissions of the agent {resource} on skills',
    activity: 'update',
    fields: ({ permissions }) => permissionsOf(permissions),
  },
  AgentToolGranted: {
    summary: 'granted the agent {resource} the tool {tool_id}',
    activity: 'create',
    fields: ({ tool_id, ...grant }) => ({ [`tools/${tool_id}`]: grant }),
  },
  AgentToolRevoked: {
    summary: 'revoked the tool {tool_id} from the agent {resource}',
    activity: 'delete',
    fields: ({ tool_id }) => ({ [`tools/${tool_id}`]: null }),
  },
  AgentCredentialGiven: {
    summary: 'gave the credential {credential_label} to the agent {resource}',
    activity: 'create',
    severity: 'low',
    fields: ({ identity_id, credential_label }) => ({ [`credentials/${identity_id}`]: credential_label }),
  },
  AgentCredentialTaken: {
    summary: 'took the credential {credential_label} from the agent {resource}',
    activity: 'delete',
    severity: 'low',
    fields: ({ identity_id }) => ({ [`credentials/${identity_id}`]: null }),
  },
} satisfies AuditOf<Agent.AgentEvent>;
