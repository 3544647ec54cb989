import { counted } from '../../domain/counted.ts';
import { cleanDisplayText } from '../../domain/fields.ts';
import type { AutomaticKind } from '../../domain/mail/automatic-mail.ts';
import { MAX_HTML, MAX_TEXT, type MailContent } from '../../domain/mail/content.ts';
import type { DeliveryReport } from '../../domain/mail/delivery-report.ts';
import { cutText, headerIdsIn } from '../../domain/mail/incoming-text.ts';

/** What a parser finds in a message. */
export type MessageParts = {
  /** `sha256` of all bytes; `identity` of what the sender has sent, which stays the same on every route. */
  readonly sha256: string;
  readonly identity: string;
  readonly from: string;
  readonly from_name: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string | null;
  readonly header_id: string | undefined;
  readonly references: string | undefined;
  readonly cause: string | undefined;
  readonly automatic: AutomaticKind | null;
  /** `declared`: the sender's media type. */
  readonly files: readonly { readonly filename: string; readonly bytes: Uint8Array; readonly declared?: string }[];
  /** The report of a mail server about a message that an agent has sent; null if the message is not such a report. */
  readonly report: DeliveryReport | null;
};

const MAX_SUBJECT = 998;
const MAX_NAME = 255;
const MAX_REFERENCES = 20;
/** The maximum number of files of a message. Others are left out, and its text says so. */
const MAX_FILES = 100;

type File = MessageParts['files'][number];

/** Adds a note about the files that were left out. A long text is cut, so that both fit. */
const withNote = (text: string, leftOut: number): string => {
  if (leftOut === 0) return text;
  const note = `\n\n[${counted(leftOut, 'attachment')} ${leftOut === 1 ? 'was' : 'were'} left out: a message can have at most ${MAX_FILES} files]`;
  return cutText(text, MAX_TEXT - note.length).text + note;
};

/** Files: attachments, and any text or HTML that is too long for the content. */
export const contentOf = (
  mail: Omit<MessageParts, 'sha256' | 'identity' | 'cause' | 'report'>,
): { readonly content: MailContent; readonly files: readonly File[] } => {
  const plain = cutText(mail.text, MAX_TEXT);
  const html = mail.html === null ? null : cutText(mail.html, MAX_HTML);
  const encoder = new TextEncoder();
  const all = [
    ...(plain.isCut ? [{ filename: 'message.txt', bytes: encoder.encode(mail.text) }] : []),
    ...(html?.isCut ? [{ filename: 'message.html', bytes: encoder.encode(mail.html!) }] : []),
    ...mail.files,
  ];
  const files = all.slice(0, MAX_FILES);
  const content: MailContent = {
    ...{ from: mail.from, from_name: cleanDisplayText(mail.from_name, MAX_NAME), to: mail.to, cc: mail.cc, automatic: mail.automatic },
    subject: cleanDisplayText(mail.subject, MAX_SUBJECT) ?? '',
    text: withNote(plain.text, all.length - files.length),
    html: html && !html.isCut ? html.text : null,
    header_id: headerIdsIn(mail.header_id, 1)[0] ?? null,
    references: headerIdsIn(mail.references, MAX_REFERENCES),
  };
  return { content, files };
};
