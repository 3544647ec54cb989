import type { MailFile } from '../mail/content.ts';

/** Whether the sender of a message is who it claims to be: the results of SPF, DKIM and DMARC, such as `pass`. */
export type Authentication = { readonly spf: string; readonly dkim: string; readonly dmarc: string };

/**
 * The origin of a received message. `mailbox_id` is null if the agent's mailbox was not provisioned. `sent_message_id`
 * is the id of the sent message if an agent of the same tenant sent it; null if the message came by SMTP.
 */
export type MailOrigin = {
  readonly mailbox_id: string | null;
  readonly sent_message_id: string | null;
  readonly authentication: Authentication | null;
  readonly attachments: readonly MailFile[];
};
