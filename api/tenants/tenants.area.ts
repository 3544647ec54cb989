import type { Area, Needs } from '../area.ts';
import { createDeliveryStates } from '../deliveries/delivery-states.ts';
import { agentSummaryOperationOf } from './agent-summary.ts';
import { eraseTenantOperations } from './erase-tenant.ts';
import { invitationOperations, invitationRoutes } from './invitation.ts';
import { memberOperations } from './member.ts';
import { memberActivityOperations } from './member-activity.ts';
import { memberDetailOperations } from './member-detail.ts';
import { overviewOperationOf } from './overview.ts';
import { overviewCountOperations } from './overview-counts.ts';
import { tenantOperations } from './tenant.ts';
import { tenantHistoryOperations } from './tenant-history.ts';

export const tenantsArea = {
  title: 'Tenants',
  description: 'Tenants, their members and invitations.',
  operations: ({ erasure, runnerBroker }: Needs<'erasure' | 'runnerBroker'>) => {
    const runners = { broker: runnerBroker, states: createDeliveryStates(runnerBroker) };
    return {
      ...tenantOperations,
      ...overviewOperationOf(runners),
      ...overviewCountOperations,
      ...agentSummaryOperationOf(runners),
      ...eraseTenantOperations(erasure),
      ...tenantHistoryOperations,
      ...memberOperations,
      ...memberActivityOperations,
      ...memberDetailOperations,
      ...invitationOperations,
    };
  },
  plainRoutes: [invitationRoutes],
} satisfies Area;
