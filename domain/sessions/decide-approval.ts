import { conflict } from '../refusal.ts';
import { type Decision, isOverdue, MAX_OPEN_APPROVALS, type OpenApproval, type RequestFields } from './approval.ts';
import { appendMessage, assertOpen, type NewMessage, type Session, type SessionEvent, sentFields, type Usage } from './session.ts';

const openApproval = ({ open_approvals }: Session, message_id: string): OpenApproval | undefined =>
  open_approvals.find((one) => one.message_id === message_id);

/** The kind of the conflict, and of the problem document, for an expired approval. */
export const APPROVAL_EXPIRED = 'approval_expired';

export const approvalExpired = (expires_at: string | null) =>
  conflict('/path/message_id', APPROVAL_EXPIRED, 'The approval has expired: the agent must ask again', { expires_at });

/** @throws Refusal not_found, conflict if the session has ended or has too many open approvals */
export const requestApproval =
  (message: NewMessage, usage: Usage | null, { request, at }: { readonly request: RequestFields; readonly at: string }) =>
  (session: Session): SessionEvent[] => {
    const appended = appendMessage(message, usage, at)(session);
    const { agent_id, open_approvals } = session;
    if (open_approvals.length >= MAX_OPEN_APPROVALS)
      throw conflict(
        '/approval',
        'too_many_open_approvals',
        `The session has ${MAX_OPEN_APPROVALS} open approvals: wait until one is decided`,
      );
    return [...appended, { type: 'ApprovalRequested', data: { agent_id, ...request } }];
  };

/** @throws Refusal not_found, conflict if the session has ended, or if the approval has expired or is not open */
export const decideApproval =
  (message_id: string, { decision, sealed_comment }: { decision: Decision; sealed_comment: string | null }, at: string) =>
  (session: Session): SessionEvent[] => {
    assertOpen(session, at);
    const approval = openApproval(session, message_id);
    if (!approval) throw conflict('/path/message_id', 'approval_closed', 'The approval is no longer open');
    if (isOverdue(approval, at)) throw approvalExpired(approval.expires_at);
    const decided = { decision, sha256: approval.sha256, sealed_comment };
    return [{ type: 'ApprovalDecided', data: { agent_id: session.agent_id, message_id, ...sentFields(session), ...decided } }];
  };
