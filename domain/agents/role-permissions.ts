export const AGENT_ROLES = ['VIEWER', 'MANAGER', 'OWNER'] as const;
export type AgentRole = (typeof AGENT_ROLES)[number];

/** A grant gives one user access to one agent, in addition to any role on it. */
export const GRANT_ROLES = ['VIEWER', 'EDITOR'] as const;
export type GrantRole = (typeof GRANT_ROLES)[number];

/** The role on an agent with the same permissions. */
export const ROLE_OF_GRANT: Readonly<Record<GrantRole, AgentRole>> = { VIEWER: 'VIEWER', EDITOR: 'MANAGER' };

/** The API names these permissions by their labels. */
export const PERMISSION_OF_LABEL = {
  View: 'agent:read',
  'Chat (read-only)': 'agent:chat:read',
  'Assign work': 'agent:assign',
  'Edit settings': 'agent:settings:write',
  'Edit skills': 'agent:skills:write',
  'Edit tools': 'agent:tools:write',
  'Transfer ownership': 'agent:ownership:transfer',
  'Delete agent': 'agent:delete',
  'Manage roles': 'agent:roles:write',
} as const;

export type AgentLabel = keyof typeof PERMISSION_OF_LABEL;
export type AgentPermission = (typeof PERMISSION_OF_LABEL)[AgentLabel];
export type RolePermissions = Readonly<Record<AgentRole, readonly AgentLabel[]>>;

export const LABELS = Object.keys(PERMISSION_OF_LABEL) as AgentLabel[];

const VIEWER: readonly AgentLabel[] = ['View', 'Chat (read-only)'];
const MANAGER: readonly AgentLabel[] = [...VIEWER, 'Assign work', 'Edit settings', 'Edit skills', 'Edit tools'];

/** The role permissions of tenants that have not changed them. */
export const DEFAULT_ROLE_PERMISSIONS: RolePermissions = { VIEWER, MANAGER, OWNER: LABELS };

export type LabeledPermission = { readonly id: AgentPermission; readonly label: AgentLabel };

export const permissionsOfRoles = (roles: RolePermissions): Record<AgentRole, LabeledPermission[]> => {
  const labeled = (labels: readonly AgentLabel[]) => labels.map((label) => ({ id: PERMISSION_OF_LABEL[label], label }));
  return { VIEWER: labeled(roles.VIEWER), MANAGER: labeled(roles.MANAGER), OWNER: labeled(roles.OWNER) };
};
