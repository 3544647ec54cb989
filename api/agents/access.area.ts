import type { Area } from '../area.ts';
import { agentRoleOperations } from './agent-roles.ts';
import { effectiveAccessOperations } from './effective-access.ts';
import { effectivePermissionOperations } from './effective-permissions.ts';

export const accessArea = {
  title: 'Access',
  description: 'Who may do what with an agent: roles, grants and the permissions of each role.',
  operations: () => ({ ...agentRoleOperations, ...effectivePermissionOperations, ...effectiveAccessOperations }),
  plainRoutes: [],
} satisfies Area;
