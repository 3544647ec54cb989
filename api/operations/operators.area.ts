import type { Area, Needs } from '../area.ts';
import { healthOperations } from './health.ts';
import { projectionAdminOperations } from './projection-admin.ts';
import { systemRoutes } from './system-routes.ts';

export const operatorsArea = {
  title: 'Operators',
  description: 'The state of the read models, their rebuilds, and their comparison with the log.',
  operations: ({ readHealth, projectionAdmin }: Needs<'readHealth' | 'projectionAdmin'>) => ({
    ...healthOperations(readHealth),
    ...projectionAdminOperations(projectionAdmin),
  }),
  plainRoutes: [systemRoutes],
} satisfies Area;
