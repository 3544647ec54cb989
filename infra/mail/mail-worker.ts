import type { ParsedMail } from '../../commands/mail/accept-mail.ts';
import { contentOf } from '../../commands/mail/mail-content.ts';
import { detectContentType } from '../blobs/detect-content-type.ts';
import { type Moved, serveTasks } from '../threads/serve-tasks.ts';
import { useFlatBlobs } from './flat-blob.ts';
import { parseMail } from './parse-mail.ts';

export type MailTask = { readonly raw: ArrayBuffer; readonly sender: string };
export type MailTaskResult = { readonly mail: ParsedMail; readonly raw: ArrayBuffer };

useFlatBlobs();

/** Parses each message that the main thread sends, and cuts it to what is stored. */
serveTasks(async ({ raw, sender }: MailTask): Promise<Moved<MailTaskResult>> => {
  const parsed = await parseMail(raw, sender);
  const { content, files } = contentOf(parsed);
  const detected = await Promise.all(
    files.map(async ({ filename, bytes }) => ({ filename, bytes, content_type: await detectContentType(bytes) })),
  );
  const { sha256, cause, report } = parsed;
  const buffers = [raw, ...detected.map(({ bytes }) => bytes.buffer as ArrayBuffer)];
  return { output: { mail: { sha256, cause, report, content, files: detected }, raw }, buffers };
});
