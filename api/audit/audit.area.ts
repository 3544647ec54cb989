import type { Area } from '../area.ts';
import { auditExport } from './audit-export.ts';
import { auditOperations } from './audit-log.ts';
import { auditProofOperations } from './audit-proof.ts';
import { eventOperations } from './event-log.ts';
import { tenantChanges } from './tenant-changes.ts';

export const auditArea = {
  title: 'Audit',
  description: 'What happened, when, and who did it: one entry for every event.',
  operations: () => ({ ...auditOperations, ...auditProofOperations, ...eventOperations }),
  plainRoutes: [auditExport, tenantChanges],
} satisfies Area;
