import type { Area, Needs } from '../area.ts';
import { approvalOperations } from './approvals.ts';
import { auditSessionOperations } from './audit-sessions.ts';
import { draftOperations } from './draft.ts';
import { sessionOperations } from './session.ts';
import { sessionAttachments } from './session-attachment.ts';
import { settledMessageOperations } from './settled-messages.ts';
import { tenantSessionOperations } from './tenant-sessions.ts';

export const sessionsArea = {
  title: 'Sessions',
  description: 'What agents do: each session has the messages of one task, and what it cost.',
  operations: ({ drafts }: Needs<'drafts'>) => ({
    ...sessionOperations,
    ...draftOperations(drafts),
    ...approvalOperations,
    ...auditSessionOperations,
    ...tenantSessionOperations,
    ...settledMessageOperations,
  }),
  plainRoutes: [sessionAttachments],
} satisfies Area;
