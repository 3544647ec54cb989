import type { ProjectionMaintenanceEvent } from '../../domain/operations/projection-maintenance.ts';
import type { AuditOf } from '../audit-record.ts';

export const projectionMaintenanceAudit = {
  ProjectionPromoted: { summary: 'promoted the rebuilt projection {projection}', activity: 'update' },
  ParkedEventRetried: { summary: 'retried a parked event of the projection {projection}', activity: 'update' },
} satisfies AuditOf<ProjectionMaintenanceEvent>;
