import type { Area } from '../area.ts';
import { agentRoleOperations } from './agent-roles.ts';
import { effectiveAccessOperations } from './effective-access.ts';
import { effectivePermissionOperations } from './effective-permissions.ts';

export const accessArea = {
  title: 'Access',
  operations: () => ({ ...agentRoleOperations, ...effectivePermissionOperations, ...effectiveAccessOperations }),
  plainRoutes: [],
} satisfies Area;
