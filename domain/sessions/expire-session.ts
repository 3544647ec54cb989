import { cancelApprovals, isOverdue } from './approval.ts';
import { isOpen, type Session, type SessionEvent, sentFields } from './session.ts';

/**
 * Expires the session or one of its approvals if due at `at`. Repeat until there is no event: each names the event that was sent to the
 * runner before, so there is one per call.
 */
export const expire =
  (at: string) =>
  (session: Session): SessionEvent[] => {
    if (!isOpen(session)) return [];
    const { agent_id, expires_at, open_approvals } = session;
    if (at >= expires_at) return [...cancelApprovals(agent_id, open_approvals), { type: 'SessionExpired', data: { agent_id } }];
    const overdue = open_approvals.find((one) => isOverdue(one, at));
    return overdue ? [{ type: 'ApprovalExpired', data: { agent_id, message_id: overdue.message_id, ...sentFields(session) } }] : [];
  };
