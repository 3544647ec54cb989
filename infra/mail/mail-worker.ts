import type { ParsedMail } from '../../commands/mail/accept-mail.ts';
import { type Moved, serveTasks } from '../threads/serve-tasks.ts';
import { storableMail } from './storable-mail.ts';

export type MailTask = { readonly raw: ArrayBuffer; readonly sender: string };
export type MailTaskResult = { readonly mail: ParsedMail; readonly raw: ArrayBuffer };

serveTasks(async ({ raw, sender }: MailTask): Promise<Moved<MailTaskResult>> => {
  const mail = await storableMail(raw, sender);
  return { output: { mail, raw }, buffers: [raw, ...mail.files.map(({ bytes }) => bytes.buffer as ArrayBuffer)] };
});
