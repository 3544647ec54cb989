import type { MailFile } from '../mail/content.ts';

/** Whether the sender of a message is who it claims to be: the results of SPF, DKIM and DMARC, such as `pass`. */
export type Authentication = { readonly spf: string; readonly dkim: string; readonly dmarc: string };

/**
 * Where a message was received. `mailbox_id` is null for an agent whose mailbox was not provisioned.
 * `sent_message_id` is the message of an agent of the same tenant; null if it came by SMTP.
 */
export type MailOrigin = {
  readonly mailbox_id: string | null;
  readonly sent_message_id: string | null;
  readonly authentication: Authentication | null;
  readonly attachments: readonly MailFile[];
};
