import type { Area } from '../area.ts';
import { approvalOperations } from './approvals.ts';
import { auditSessionOperations } from './audit-sessions.ts';
import { sessionOperations } from './session.ts';
import { sessionAttachments } from './session-attachment.ts';

export const sessionsArea = {
  title: 'Sessions',
  operations: () => ({ ...sessionOperations, ...approvalOperations, ...auditSessionOperations }),
  plainRoutes: [sessionAttachments],
} satisfies Area;
