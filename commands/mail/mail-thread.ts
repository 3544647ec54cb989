import { type MailContent, sentIdIn } from '../../domain/mail/content.ts';
import * as Mail from '../../domain/mail/mail.ts';
import type { MailReads } from './recipient.ts';

/** A person needs longer than this for an answer, in milliseconds. */
const MAX_MACHINE_ANSWER_MS = 60_000;
const MAX_LOOK_UPS = 3;

type Answer = {
  readonly tenant_id: string;
  readonly mail: { readonly content: MailContent; readonly cause: string | undefined };
  readonly now: number;
};

/**
 * Returns the delivery that led to a received message, if programs answer each other: the message answers one that an
 * agent has sent, which answered that delivery. Answers of persons do not count, so that their conversations with an
 * agent can be as long as they like. Without such a delivery, the one that the message itself names is returned.
 */
export const causeInThread = async ({ load }: MailReads, { tenant_id, mail, now }: Answer): Promise<string | undefined> => {
  const { references, automatic } = mail.content;
  const ids = references.map(sentIdIn).filter((id) => id !== null);
  // The Message-IDs of another tenant, or of another installation, look the same.
  for (const id of ids.toReversed().slice(0, MAX_LOOK_UPS)) {
    const { state: answered } = await load(Mail, tenant_id, id);
    if (answered.status === 'absent') continue;
    const isByMachine = automatic !== null || now - Date.parse(answered.created_at) < MAX_MACHINE_ANSWER_MS;
    return (isByMachine ? answered.in_reply_to : null) ?? mail.cause;
  }
  return mail.cause;
};
