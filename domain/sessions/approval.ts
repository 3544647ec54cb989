import type { Recorded } from '../event.ts';
import type { SentFields } from './sent-fields.ts';

export const APPROVAL_STATUSES = ['open', 'approved', 'denied', 'expired', 'cancelled'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** What a person can decide. */
export const DECISIONS = ['approved', 'denied'] as const;
export type Decision = (typeof DECISIONS)[number];

/** A session can have this number of open approvals at the same time, because its state contains them. */
export const MAX_OPEN_APPROVALS = 20;

/**
 * `sha256` is the SHA-256 of what people are shown (see `shownDigest`). `sealed_request` is the encrypted JSON of the
 * action and the detail. `message_id` is the id of the message with which the runner asks.
 */
export type RequestFields = { message_id: string; expires_at: string | null; sha256: string; sealed_request: string };

type OfMessage = { agent_id: string; message_id: string };

export type ApprovalEvent =
  | { type: 'ApprovalRequested'; data: { agent_id: string } & RequestFields }
  /** `sha256` says what was decided on, although its text is encrypted. */
  | { type: 'ApprovalDecided'; data: OfMessage & SentFields & { decision: Decision; sha256: string; sealed_comment: string | null } }
  | { type: 'ApprovalExpired'; data: OfMessage & SentFields }
  /** The session ended before anybody decided. */
  | { type: 'ApprovalCancelled'; data: OfMessage };

/** An approval that nobody has decided on. `revision` is that of the event with which it was requested. */
export type OpenApproval = Omit<RequestFields, 'sealed_request'> & { readonly revision: number };

export type Approval = RequestFields & {
  readonly agent_id: string;
  readonly session_id: string;
  readonly status: ApprovalStatus;
  readonly created_at: string;
  readonly sealed_comment: string | null;
  /** The user who has decided; null if nobody has. */
  readonly decided_by_id: string | null;
  /** When a person has decided, or when the approval expired or was cancelled; null while it is open. */
  readonly decided_at: string | null;
};

/** Returns the open approvals of a session after an event. */
export const openApprovalsAfter = (
  open: readonly OpenApproval[],
  { type, data, revision }: Recorded<ApprovalEvent>,
): readonly OpenApproval[] => {
  if (type !== 'ApprovalRequested') return open.filter(({ message_id }) => message_id !== data.message_id);
  const { message_id, expires_at, sha256 } = data;
  return [...open, { message_id, expires_at, sha256, revision }];
};

/** The status of an approval after an event. */
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

/** Returns an approval as it is after the event with which it was requested. */
export const requestedApproval = (event: Recorded<Extract<ApprovalEvent, { type: 'ApprovalRequested' }>>): Approval => ({
  ...event.data,
  session_id: event.id,
  status: 'open',
  created_at: event.at,
  sealed_comment: null,
  decided_by_id: null,
  decided_at: null,
});

/** Returns an approval as it is after the event that closes it. */
export const closedApproval = (approval: Approval, event: Recorded<Exclude<ApprovalEvent, { type: 'ApprovalRequested' }>>): Approval => {
  const closed = { ...approval, status: statusAfterApproval(event), decided_at: event.at };
  if (event.type !== 'ApprovalDecided') return closed;
  const { actor, data } = event;
  return { ...closed, sealed_comment: data.sealed_comment, decided_by_id: actor.kind === 'user' ? actor.id : null };
};

/** Returns the events that cancel open approvals, because their session ends. */
export const cancelApprovals = (agent_id: string, open: readonly OpenApproval[]) =>
  open.map(({ message_id }) => ({ type: 'ApprovalCancelled', data: { agent_id, message_id } }) as const);

/** Returns whether nobody can decide on an approval at the time `at`, because it has expired. */
export const isOverdue = ({ expires_at }: Pick<OpenApproval, 'expires_at'>, at: string): boolean => expires_at !== null && at >= expires_at;
