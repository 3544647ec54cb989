import { DEFAULT_ROLE_PERMISSIONS, LABELS, ROLE_OF_GRANT } from '../../domain/agents/role-permissions.ts';

/** What the roles and grants on agents allow in a tenant that has changed nothing, and the labels of all permissions. */
export const DEFAULT_GRID = { labels: LABELS, roles: DEFAULT_ROLE_PERMISSIONS, roleOfGrant: ROLE_OF_GRANT } as const;
