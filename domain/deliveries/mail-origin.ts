import type { MailFile } from '../mail/content.ts';

/** Results of SPF, DKIM and DMARC, such as `pass`: whether the sender is genuine. */
export type Authentication = { readonly spf: string; readonly dkim: string; readonly dmarc: string };

/**
 * `mailbox_id` is null if the agent had no mailbox yet. `sent_message_id`: of a message from an agent of the same tenant; null if it came
 * by SMTP.
 */
export type MailOrigin = {
  readonly mailbox_id: string | null;
  readonly sent_message_id: string | null;
  readonly authentication: Authentication | null;
  readonly attachments: readonly MailFile[];
};
