import type { Recorded } from '../event.ts';
import { notFound } from '../refusal.ts';

export const category = 'mail';

/**
 * An agent of the same tenant that gets a message directly, without SMTP. `index` is the index of the recipient (see
 * `SentFields`).
 */
export type InternalRecipient = { readonly index: number; readonly agent_id: string };

/**
 * The fields of a message that an agent sends. `internal` are the recipients that get the message without SMTP, and
 * `external` the indices of those that get it by SMTP. An index counts the recipients in `to`, followed by those in
 * `cc`. `mailbox_ids` are the mailboxes of the sender. `sealed_content` is the encrypted content, which includes all
 * addresses.
 */
export type SentFields = {
  agent_id: string;
  mailbox_ids: readonly string[];
  internal: readonly InternalRecipient[];
  external: readonly number[];
  in_reply_to: string | null;
  attachment_ids: readonly string[];
  sealed_content: string;
};

/**
 * States that a recipient did not get a message, and why: an SMTP code such as `550`, or a word. `recipient` is the
 * index of the recipient.
 */
export type Bounce = { readonly recipient: number; readonly reason: string };

/**
 * Every event contains the id of the agent, so that the audit log finds all mail of an agent. `is_last` is whether no
 * recipient is tried again after this attempt.
 */
export type MailEvent =
  | { type: 'MailSent'; data: SentFields }
  | { type: 'MailDelivered'; data: { agent_id: string; recipients: readonly number[]; is_last: boolean } }
  | { type: 'MailBounced'; data: { agent_id: string; bounces: readonly Bounce[]; is_last: boolean } }
  | { type: 'MailDeferred'; data: { agent_id: string; attempt: number; reason: string; next_attempt_at: string } };

export const MAIL_STATUSES = ['queued', 'sent', 'bounced'] as const;
export type MailStatus = (typeof MAIL_STATUSES)[number];

/**
 * A message that an agent sent. `open` are the indices of the recipients for whom delivery has neither succeeded nor
 * failed yet. `next_attempt_at` is null if there are no such recipients.
 */
export type Mail = SentFields & {
  status: 'absent' | MailStatus;
  id: string;
  tenant_id: string;
  open: readonly number[];
  bounces: readonly Bounce[];
  attempts: number;
  next_attempt_at: string | null;
  created_at: string;
};

export const initial: Mail = {
  status: 'absent',
  id: '',
  tenant_id: '',
  agent_id: '',
  mailbox_ids: [],
  internal: [],
  external: [],
  in_reply_to: null,
  attachment_ids: [],
  sealed_content: '',
  open: [],
  bounces: [],
  attempts: 0,
  next_attempt_at: null,
  created_at: '',
};

/**
 * Removes recipients from the open ones. If no open one is left, the status becomes `bounced` if delivery failed for
 * any recipient, and otherwise `sent`.
 */
const settle = (mail: Mail, settled: readonly number[], bounces: readonly Bounce[]): Mail => {
  const open = mail.open.filter((index) => !settled.includes(index));
  if (open.length > 0) return { ...mail, open, bounces };
  return { ...mail, open, bounces, status: bounces.length > 0 ? 'bounced' : 'sent', next_attempt_at: null };
};

export const evolve = (mail: Mail, { type, data, id, tenant, at }: Recorded<MailEvent>): Mail => {
  switch (type) {
    case 'MailSent': {
      const open = [...data.internal.map(({ index }) => index), ...data.external].toSorted((a, b) => a - b);
      return { ...mail, ...data, status: 'queued', id, tenant_id: tenant, open, next_attempt_at: at, created_at: at };
    }
    case 'MailDelivered':
      return settle(mail, data.recipients, mail.bounces);
    case 'MailBounced':
      return settle(
        mail,
        data.bounces.map(({ recipient }) => recipient),
        [...mail.bounces, ...data.bounces],
      );
    case 'MailDeferred':
      return { ...mail, attempts: data.attempt, next_attempt_at: data.next_attempt_at };
  }
};

/** Checks that the message exists and was sent by this agent. @throws Refusal not_found */
export const assertExists = ({ status, agent_id: owner }: Mail, agent_id: string): void => {
  if (status === 'absent' || owner !== agent_id) throw notFound();
};

export const send =
  (data: SentFields) =>
  ({ status }: Mail): MailEvent[] =>
    status === 'absent' ? [{ type: 'MailSent', data }] : [];

/**
 * The result of an attempt to deliver a message by SMTP. `attempt` is the number of the attempt, from 1. Recipients
 * that are neither in `delivered` nor in `bounces` are tried again; `reason` is why delivery to them did not succeed.
 */
export type Attempt = {
  readonly attempt: number;
  readonly delivered: readonly number[];
  readonly bounces: readonly Bounce[];
  readonly reason: string;
};

/**
 * The maximum number of attempts. The last attempt is about four hours after the first one. After it, delivery has
 * failed for all recipients that are still open.
 */
const MAX_ATTEMPTS = 10;
const FIRST_DELAY_MS = 30_000;

/**
 * Records an attempt that ended at the time `now` (milliseconds since 1970). Recipients that are no longer open are
 * ignored. Does nothing if this attempt is already recorded.
 */
export const recordAttempt =
  ({ attempt, delivered, bounces, reason }: Attempt, now: number) =>
  ({ agent_id, open, attempts }: Mail): MailEvent[] => {
    if (attempt !== attempts + 1) return [];
    const reached = delivered.filter((index) => open.includes(index));
    const refused = bounces.filter(({ recipient }) => open.includes(recipient) && !reached.includes(recipient));
    const left = open.filter((index) => !reached.includes(index) && !refused.some(({ recipient }) => recipient === index));
    const isLast = attempt >= MAX_ATTEMPTS;
    const is_last = isLast || left.length === 0;
    const given = isLast ? left.map((recipient) => ({ recipient, reason })) : [];
    const next_attempt_at = new Date(now + FIRST_DELAY_MS * 2 ** attempts).toISOString();
    return [
      ...(reached.length > 0 ? [{ type: 'MailDelivered' as const, data: { agent_id, recipients: reached, is_last } }] : []),
      ...(refused.length + given.length > 0
        ? [{ type: 'MailBounced' as const, data: { agent_id, bounces: [...refused, ...given], is_last } }]
        : []),
      ...(left.length > 0 && !isLast ? [{ type: 'MailDeferred' as const, data: { agent_id, attempt, reason, next_attempt_at } }] : []),
    ];
  };

/**
 * Records recipients who did not get the message although a mail server had accepted it; the server has reported this
 * later. Recipients are ignored if they are still open, have bounced before, or do not get the message by SMTP.
 */
export const recordReport =
  (reported: readonly Bounce[]) =>
  ({ agent_id, external, open, bounces: known }: Mail): MailEvent[] => {
    const isNew = ({ recipient }: Bounce): boolean =>
      external.includes(recipient) && !open.includes(recipient) && !known.some((bounce) => bounce.recipient === recipient);
    const bounces = reported.filter(
      (one, index) => isNew(one) && reported.findIndex(({ recipient }) => recipient === one.recipient) === index,
    );
    return bounces.length > 0 ? [{ type: 'MailBounced', data: { agent_id, bounces, is_last: open.length === 0 } }] : [];
  };
