import type { ParsedMail } from '../../commands/mail/accept-mail.ts';
import { contentOf } from '../../commands/mail/mail-content.ts';
import { detectContentType } from '../blobs/detect-content-type.ts';
import { attachmentType } from './message/attachment-type.ts';
import { parseMail } from './message/parse-mail.ts';

/**
 * Parses a message, and cuts it to what is stored. `sender` is the address in the envelope.
 * @throws Error if the message is nested too deeply or has too many signatures
 */
export const storableMail = async (raw: ArrayBuffer, sender: string): Promise<ParsedMail> => {
  const parsed = parseMail(raw, sender);
  const { content, files } = contentOf(parsed);
  const typed = await Promise.all(
    files.map(async ({ filename, bytes, declared }) => ({
      ...{ filename, bytes },
      content_type: attachmentType(declared, await detectContentType(bytes)),
    })),
  );
  const { sha256, identity, cause, report } = parsed;
  return { sha256, identity, cause, report, content, files: typed };
};
