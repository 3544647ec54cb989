import type { Area } from '../area.ts';
import { approvalOperations } from './approvals.ts';
import { auditSessionOperations } from './audit-sessions.ts';
import { sessionOperations } from './session.ts';
import { sessionAttachments } from './session-attachment.ts';
import { settledMessageOperations } from './settled-messages.ts';

export const sessionsArea = {
  title: 'Sessions',
  operations: () => ({ ...sessionOperations, ...approvalOperations, ...auditSessionOperations, ...settledMessageOperations }),
  plainRoutes: [sessionAttachments],
} satisfies Area;
