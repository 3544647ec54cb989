import type { Recorded } from '../event.ts';
import type { SentFields } from './sent-fields.ts';

export const APPROVAL_STATUSES = ['open', 'approved', 'denied', 'expired', 'cancelled'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

export const DECISIONS = ['approved', 'denied'] as const;
export type Decision = (typeof DECISIONS)[number];

/** Per session, at the same time: the state of the session contains its open approvals. */
export const MAX_OPEN_APPROVALS = 20;

/**
 * `sha256`: of what people see (see `shownDigest`). `sealed_request`: encrypted JSON of action and detail. `message_id`: the message with
 * which the runner asks.
 */
export type RequestFields = { message_id: string; expires_at: string | null; sha256: string; sealed_request: string };

type OfMessage = { agent_id: string; message_id: string };

export type ApprovalEvent =
  | { type: 'ApprovalRequested'; data: { agent_id: string } & RequestFields }
  /** `sha256` identifies what was decided on, although the text is encrypted. */
  | { type: 'ApprovalDecided'; data: OfMessage & SentFields & { decision: Decision; sha256: string; sealed_comment: string | null } }
  | { type: 'ApprovalExpired'; data: OfMessage & SentFields }
  /** The session ended before a decision. */
  | { type: 'ApprovalCancelled'; data: OfMessage };

/** `revision` of the event that requested it. */
export type OpenApproval = Omit<RequestFields, 'sealed_request'> & { readonly revision: number };

export type Approval = RequestFields & {
  readonly agent_id: string;
  readonly session_id: string;
  readonly status: ApprovalStatus;
  readonly created_at: string;
  readonly sealed_comment: string | null;
  readonly decided_by_id: string | null;
  /** The time of the decision, the expiry or the cancellation. */
  readonly decided_at: string | null;
};

export const openApprovalsAfter = (
  open: readonly OpenApproval[],
  { type, data, revision }: Recorded<ApprovalEvent>,
): readonly OpenApproval[] => {
  if (type !== 'ApprovalRequested') return open.filter(({ message_id }) => message_id !== data.message_id);
  const { message_id, expires_at, sha256 } = data;
  return [...open, { message_id, expires_at, sha256, revision }];
};

export const statusAfterApproval = ({ type, data }: ApprovalEvent): ApprovalStatus => {
  switch (type) {
    case 'ApprovalRequested':
      return 'open';
    case 'ApprovalDecided':
      return data.decision;
    case 'ApprovalExpired':
      return 'expired';
    case 'ApprovalCancelled':
      return 'cancelled';
  }
};

export const requestedApproval = (event: Recorded<Extract<ApprovalEvent, { type: 'ApprovalRequested' }>>): Approval => ({
  ...event.data,
  session_id: event.id,
  status: 'open',
  created_at: event.at,
  sealed_comment: null,
  decided_by_id: null,
  decided_at: null,
});

export const closedApproval = (approval: Approval, event: Recorded<Exclude<ApprovalEvent, { type: 'ApprovalRequested' }>>): Approval => {
  const closed = { ...approval, status: statusAfterApproval(event), decided_at: event.at };
  if (event.type !== 'ApprovalDecided') return closed;
  const { actor, data } = event;
  return { ...closed, sealed_comment: data.sealed_comment, decided_by_id: actor.kind === 'user' ? actor.id : null };
};

/** The events that cancel the open approvals of a session that ends. */
export const cancelApprovals = (agent_id: string, open: readonly OpenApproval[]) =>
  open.map(({ message_id }) => ({ type: 'ApprovalCancelled', data: { agent_id, message_id } }) as const);

/** A decision on it is then refused. */
export const isOverdue = ({ expires_at }: Pick<OpenApproval, 'expires_at'>, at: string): boolean => expires_at !== null && at >= expires_at;
