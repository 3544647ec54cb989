import type { Recorded } from '../event.ts';
import { notFound } from '../refusal.ts';

export const category = 'mail';

/** Gets the message directly, without SMTP. `index` as in `SentFields`. */
export type InternalRecipient = { readonly index: number; readonly agent_id: string };

/**
 * `internal` recipients get the message without SMTP; `external` has the indices of the others. An index counts the recipients in `to`,
 * then `cc`. `mailbox_ids` are the sender's. `sealed_content` is encrypted and includes all addresses.
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

/** `reason`: an SMTP code such as `550`, or a word. `recipient`: its index. */
export type Bounce = { readonly recipient: number; readonly reason: string };

/** Every event has the agent's id, so that the audit log finds all its mail. `is_last`: no recipient is tried again. */
export type MailEvent =
  | { type: 'MailSent'; data: SentFields }
  | { type: 'MailDelivered'; data: { agent_id: string; recipients: readonly number[]; is_last: boolean } }
  | { type: 'MailBounced'; data: { agent_id: string; bounces: readonly Bounce[]; is_last: boolean } }
  | { type: 'MailDeferred'; data: { agent_id: string; attempt: number; reason: string; next_attempt_at: string } };

export const MAIL_STATUSES = ['queued', 'sent', 'bounced'] as const;
export type MailStatus = (typeof MAIL_STATUSES)[number];

/** `open`: indices of recipients for whom delivery has neither succeeded nor failed. `next_attempt_at` is null without any. */
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

/** When no recipient is open any more, the status becomes `bounced` if delivery failed for any, and otherwise `sent`. */
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

/** @throws Refusal not_found if the message does not exist, or another agent sent it */
export const assertExists = ({ status, agent_id: owner }: Mail, agent_id: string): void => {
  if (status === 'absent' || owner !== agent_id) throw notFound();
};

export const send =
  (data: SentFields) =>
  ({ status }: Mail): MailEvent[] =>
    status === 'absent' ? [{ type: 'MailSent', data }] : [];

/**
 * An attempt to send by SMTP. `attempt` counts from 1. Recipients in neither `delivered` nor `bounces` are tried again; `reason` is why
 * they failed.
 */
export type Attempt = {
  readonly attempt: number;
  readonly delivered: readonly number[];
  readonly bounces: readonly Bounce[];
  readonly reason: string;
};

/** The last attempt is about four hours after the first; then delivery has failed for all open recipients. */
const MAX_ATTEMPTS = 10;
const FIRST_DELAY_MS = 30_000;

/** `now`: end of the attempt, in milliseconds since 1970. Ignores recipients that are not open. Does nothing if already recorded. */
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

/** A mail server accepted the message and reported the failure later. Ignores recipients that are open, have bounced, or are not external. */
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
