import type { SessionEvent } from '../../domain/sessions/session.ts';
import type { AuditOf } from '../audit-record.ts';

export const sessionAudit = {
  SessionStarted: { summary: 'started a session of the agent {agent}', activity: 'other' },
  SessionAssigned: { summary: 'assigned a session to the agent {agent}', activity: 'create' },
  SessionMessageSent: { summary: 'sent a message to the agent {agent} in a session', activity: 'create' },
  SessionInterrupted: { summary: 'interrupted a session of the agent {agent}', activity: 'update' },
  SessionMessageRepeated: { summary: 'sent a lost message of a session to the agent {agent} again', activity: 'update' },
  MessageAppended: { summary: 'appended a message of the role {role} to a session of the agent {agent}', activity: 'create' },
  UsageRecorded: { summary: 'recorded the use of a model in a session of the agent {agent}', activity: 'create' },
  SessionAttachmentAdded: { summary: 'added the file {filename} to a session of the agent {agent}', activity: 'create' },
  SessionCompleted: { summary: 'completed a session of the agent {agent}', activity: 'update' },
  SessionFailed: { summary: 'ended a session of the agent {agent} as failed', activity: 'update' },
  SessionCancelled: { summary: 'cancelled a session of the agent {agent}', activity: 'update' },
  SessionExpired: { summary: 'expired a session of the agent {agent}', activity: 'update' },
  ApprovalRequested: { summary: 'asked for an approval in a session of the agent {agent}', activity: 'create' },
  ApprovalDecided: { summary: 'decided on an approval in a session of the agent {agent}: {decision}', activity: 'update' },
  ApprovalExpired: { summary: 'expired an approval in a session of the agent {agent}', activity: 'update' },
  ApprovalCancelled: { summary: 'cancelled an approval with a session of the agent {agent}', activity: 'update' },
} satisfies AuditOf<SessionEvent>;
