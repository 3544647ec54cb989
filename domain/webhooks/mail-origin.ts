import type { MailFile } from '../mail/content.ts';

/** Whether the sender of a mail message is genuine: the results of SPF, DKIM and DMARC, such as `pass`. */
export type Authentication = { readonly spf: string; readonly dkim: string; readonly dmarc: string };

/**
 * The origin of a received mail message. `mailbox_id` is null if the agent had no mailbox yet. If an agent of the same
 * tenant sent the message, `sent_message_id` is the id of the sent message; null if it came by SMTP.
 */
export type MailOrigin = {
  readonly mailbox_id: string | null;
  readonly sent_message_id: string | null;
  readonly authentication: Authentication | null;
  readonly attachments: readonly MailFile[];
};
