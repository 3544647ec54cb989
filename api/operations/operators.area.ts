import type { Area, Needs } from '../area.ts';
import { healthOperations } from './health.ts';
import { projectionAdminOperations } from './projection-admin.ts';
import { systemRoutes } from './system-routes.ts';

export const operatorsArea = {
  title: 'Operators',
  operations: ({ readHealth, projectionAdmin }: Needs<'readHealth' | 'projectionAdmin'>) => ({
    ...healthOperations(readHealth),
    ...projectionAdminOperations(projectionAdmin),
  }),
  plainRoutes: [systemRoutes],
} satisfies Area;
