import * as Agent from '../../domain/agents/agent.ts';
import { DEFAULT_ROLE_PERMISSIONS } from '../../domain/agents/role-permissions.ts';
import * as Skill from '../../domain/skills/skill.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Row } from '../projection.ts';

/** The text that an audit entry shows in place of a secret, for both the old and the new value. */
export const SECRET = '***';

const modelsOf = ({ models }: Row): Row =>
  Array.isArray(models) ? { models: models.map(({ model_id, access }) => ({ model_id, access })) } : {};
const withPrefix = (prefix: string, fields: Row): Row =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [`${prefix}/${name}`, value]));

type FieldsOf = (data: Row) => Row;
const withoutReason: FieldsOf = ({ reason: _, ...fields }) => fields;
const allFields: FieldsOf = (data) => data;
const role =
  (of: 'roles' | 'grants'): FieldsOf =>
  ({ user_id, role: given = null }) => ({ [`${of}/${user_id}`]: given });

const skillFields: FieldsOf = ({ generation: _, ...fields }) => ({ version: Skill.initial.version, ...fields, deleted: false });

const jobFields: FieldsOf = ({ sealed_headers: _, next_fire_at: __, ...fields }) => fields;

const permissionsOf = (permissions: unknown): Row => ({
  skill_permissions: (permissions as readonly Row[]).map(({ since: _, ...permission }) => permission),
});
const newAgent = ({ owner_id, generation: _, ...fields }: Row): Row => ({
  ...fields,
  is_active: true,
  deleted: false,
  ...(owner_id ? { [`roles/${owner_id}`]: 'OWNER' } : {}),
});
const clonedAgent: FieldsOf = ({
  source_id: _,
  source_revision: __,
  slack_config: ___,
  models,
  skills,
  tools,
  skill_permissions,
  ...fields
}) => ({
  ...newAgent({ can_author_skills: Agent.initial.can_author_skills, ...fields }),
  ...modelsOf({ models }),
  ...Object.fromEntries((skills as readonly Row[]).map(({ skill_id, ...skill }) => [`skills/${skill_id}`, skill])),
  ...Object.fromEntries((tools as readonly Row[]).map(({ tool_id, ...grant }) => [`tools/${tool_id}`, grant])),
  ...permissionsOf(skill_permissions),
});

/**
 * Maps event types to functions that return the fields of the subject which the event sets. The first event of a
 * subject sets all fields whose defaults are not null.
 */
export const SUBJECT_FIELDS: Readonly<Record<string, FieldsOf>> = {
  AgentCreated: (fields) => {
    const { external_mail_enabled, code_ref } = Agent.initial;
    return newAgent({ external_mail_enabled, code_ref, ...fields });
  },
  AgentCloned: clonedAgent,
  AgentUpdated: allFields,
  AgentRepoLinked: allFields,
  AgentCodeRefPinned: allFields,
  AgentActivated: () => ({ is_active: true }),
  AgentDeactivated: () => ({ is_active: false }),
  AgentSkillAuthoringChanged: allFields,
  AgentSkillVisibilityScopeChanged: allFields,
  AgentBudgetChanged: allFields,
  AgentAdminOnlyChanged: allFields,
  AgentModelChainReordered: modelsOf,
  AgentModelGranted: modelsOf,
  AgentModelRevoked: modelsOf,
  AgentToolGranted: ({ tool_id, ...grant }) => ({ [`tools/${tool_id}`]: grant }),
  AgentToolRevoked: ({ tool_id }) => ({ [`tools/${tool_id}`]: null }),
  AgentRoleAssigned: role('roles'),
  AgentRoleRevoked: role('roles'),
  AgentAccessGranted: role('grants'),
  AgentAccessRevoked: role('grants'),
  AgentOwnershipTransferred: ({ new_owner_id, old_owner_ids }) => ({
    ...Object.fromEntries((old_owner_ids as readonly string[]).map((id) => [`roles/${id}`, 'MANAGER'])),
    [`roles/${new_owner_id}`]: 'OWNER',
  }),
  AgentSkillGranted: ({ skill_id, is_enabled }) => ({ [`skills/${skill_id}`]: { is_enabled } }),
  AgentSkillRevoked: ({ skill_id }) => ({ [`skills/${skill_id}`]: null, [`skill_configs/${skill_id}`]: null }),
  AgentSkillConfigReplaced: ({ skill_id }) => ({ [`skill_configs/${skill_id}`]: SECRET }),
  AgentSkillConfigCleared: ({ skill_id }) => ({ [`skill_configs/${skill_id}`]: null }),
  AgentSkillPermissionsReplaced: ({ permissions }) => permissionsOf(permissions),
  AgentDeleted: () => ({ deleted: true }),
  AgentRestored: ({ of_revision: _, models, ...fields }) => ({ ...fields, ...modelsOf({ models }), deleted: false }),
  TenantCreated: ({ generation: _, ...fields }) => {
    const { allow_superadmin_access, default_skill_visibility_scope, external_mail_enabled, is_suspended, paid } = Tenant.initial;
    const defaults = { allow_superadmin_access, default_skill_visibility_scope, external_mail_enabled, is_suspended, paid };
    return { ...defaults, closed: false, ...withPrefix('role_permissions', DEFAULT_ROLE_PERMISSIONS), ...fields };
  },
  TenantUpdated: withoutReason,
  TenantPlanChanged: withoutReason,
  TenantPlanStatusChanged: allFields,
  TenantSettingsChanged: allFields,
  TenantSuspended: () => ({ is_suspended: true }),
  TenantResumed: () => ({ is_suspended: false }),
  TenantClosing: withoutReason,
  TenantReopened: () => ({ closes_at: null }),
  TenantClosed: () => ({ closed: true }),
  AgentRolePermissionsChanged: ({ roles }) => withPrefix('role_permissions', roles as Row),
  MemberAdded: ({ role: given }) => ({ role: given }),
  MemberRoleChanged: ({ role: given }) => ({ role: given }),
  MemberRemoved: () => ({ role: null }),
  UserRegistered: () => ({ is_suspended: false, is_super_admin: false }),
  UserSuspended: () => ({ is_suspended: true }),
  UserResumed: () => ({ is_suspended: false }),
  SuperAdminGranted: () => ({ is_super_admin: true }),
  SuperAdminRevoked: () => ({ is_super_admin: false }),
  ApiKeyCreated: ({ owner_id, agent_id }) => ({ owner_id, agent_id, revoked: false }),
  ApiKeyRevoked: () => ({ revoked: true }),
  IntegrationConnected: ({ sealed_secret: _, tenant_id: __, ...fields }) => ({ ...fields, is_paused: false, connected: true }),
  IntegrationUpdated: allFields,
  IntegrationSecretRotated: ({ sealed_secret: _, ...fields }) => ({ ...fields, secret: SECRET }),
  IntegrationPreviousSecretDropped: () => ({ previous_secret_valid_until: null }),
  IntegrationDisconnected: () => ({ connected: false }),
  DatabaseCredentialStored: ({ sealed_password: _, ...fields }) => ({ ...fields, connected: true, secret: SECRET }),
  IdentityLinked: ({ sealed_tokens: _, ...fields }) => ({ ...fields, connected: true, secret: SECRET }),
  IdentityTokensRefreshed: ({ sealed_tokens: _, ...fields }) => ({ ...fields, connected: true, secret: SECRET }),
  IdentityRefreshRefused: () => ({ connected: false }),
  IdentityUnlinked: () => ({ connected: false }),
  SkillCreated: skillFields,
  SkillAuthored: skillFields,
  SkillImported: skillFields,
  SkillInstalled: skillFields,
  SkillUpdated: allFields,
  SkillDeleted: () => ({ deleted: true }),
  AccountAllowed: () => ({ allowed: true }),
  AccountDisallowed: () => ({ allowed: false }),
  ModelRegistered: allFields,
  ModelUpdated: allFields,
  ModelStatusChanged: allFields,
  ModelOpenedToTenant: ({ tenant_id }) => ({ [`open_to/${tenant_id}`]: true }),
  ModelClosedToTenant: ({ tenant_id }) => ({ [`open_to/${tenant_id}`]: null }),
  ToolRegistered: allFields,
  ToolReserved: allFields,
  ToolUpdated: allFields,
  ToolRemoved: () => ({ removed: true }),
  PlanCreated: () => ({}),
  BenchmarkCreated: ({ generation: _, ...fields }) => ({ ...fields, retired: false }),
  BenchmarkUpdated: allFields,
  BenchmarkRetired: () => ({ retired: true }),
  CronJobCreated: jobFields,
  CronJobUpdated: jobFields,
  CronJobPaused: () => ({ status: 'paused' }),
  CronJobResumed: () => ({ status: 'active' }),
  CronJobDeleted: () => ({ status: 'archived' }),
  BlackoutDeclared: allFields,
  BlackoutChanged: allFields,
  BlackoutLifted: () => ({ lifted: true }),
};
