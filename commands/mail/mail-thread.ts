import { type MailContent, sentIdIn } from '../../domain/mail/content.ts';
import * as Mail from '../../domain/mail/mail.ts';
import type { MailReads } from './recipient.ts';

/** A person needs longer for an answer. */
const MAX_MACHINE_ANSWER_MS = 60_000;
const MAX_LOOK_UPS = 3;

type Answer = {
  readonly tenant_id: string;
  readonly mail: { readonly content: MailContent; readonly cause: string | undefined };
  readonly now: number;
};

/**
 * The delivery that caused a received message if programs answer each other: the message answers an agent's message, which answered that
 * delivery. Persons' answers do not count: their conversations can be as long as they like. Otherwise, the delivery that the message names.
 */
export const causeInThread = async ({ load }: MailReads, { tenant_id, mail, now }: Answer): Promise<string | undefined> => {
  const { references, automatic } = mail.content;
  const ids = references.map(sentIdIn).filter((id) => id !== null);
  // Message-IDs of another tenant, or of another installation, look the same.
  for (const id of ids.toReversed().slice(0, MAX_LOOK_UPS)) {
    const { state: answered } = await load(Mail, tenant_id, id);
    if (answered.status === 'absent') continue;
    const isByMachine = automatic !== null || now - Date.parse(answered.created_at) < MAX_MACHINE_ANSWER_MS;
    return (isByMachine ? answered.in_reply_to : null) ?? mail.cause;
  }
  return mail.cause;
};
