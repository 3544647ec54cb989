import { type MailContent, sentIdIn } from '../../domain/mail/content.ts';
import * as Mail from '../../domain/mail/mail.ts';
import type { MailReads } from './recipient.ts';

/** A person needs longer than this for an answer, in milliseconds. */
const MAX_MACHINE_ANSWER_MS = 60_000;

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
  const id = references.map(sentIdIn).findLast((found) => found !== null);
  if (!id) return mail.cause;
  const { state: answered } = await load(Mail, tenant_id, id);
  const isByMachine = automatic !== null || now - Date.parse(answered.created_at) < MAX_MACHINE_ANSWER_MS;
  return (isByMachine ? answered.in_reply_to : null) ?? mail.cause;
};
