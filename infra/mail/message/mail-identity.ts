import { createHash } from 'node:crypto';
import { fieldOf } from './header-fields.ts';
import { parameterText } from './header-parameters.ts';
import { decodeHeader } from './header-text.ts';
import type { MimePart } from './mime-tree.ts';
import { decodeTransfer } from './transfer-encoding.ts';

const squeezed = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** Returns the content of a part with LF as the end of lines, and none at its end, as relays may change both. */
const contentOf = (part: MimePart): Buffer => {
  const bytes = decodeTransfer(part.body, part.encoding);
  if (!part.type.value.startsWith('text/') && !part.type.value.startsWith('message/')) return bytes;
  return Buffer.from(bytes.toString('latin1').replaceAll('\r\n', '\n').trimEnd(), 'latin1');
};

/**
 * Returns a digest of the fields that senders set, and of all parts. It stays the same when relays, lists and filters add fields, fold or
 * encode lines in another way, or sign the message. Null without a Message-ID and a date: two such messages with the same content may be
 * two. Stored ids are derived from this digest, so its input must not change.
 */
export const mailIdentity = ({ fields }: MimePart, leaves: readonly MimePart[], hints: readonly string[]): string | null => {
  const field = (name: string): string => squeezed(fieldOf(fields, name) ?? '');
  const [id, date] = [field('message-id'), field('date')];
  if (id === '' && date === '') return null;
  const decoded = (name: string): string => squeezed(decodeHeader(fieldOf(fields, name) ?? '', hints).replaceAll('"', ''));
  const header = {
    ...{ id, date, in_reply_to: field('in-reply-to'), references: field('references') },
    ...{ from: decoded('from'), to: decoded('to'), cc: decoded('cc'), subject: decoded('subject') },
    auto_submitted: field('auto-submitted'),
  };
  const digest = createHash('sha256').update(JSON.stringify(header));
  for (const part of leaves) {
    const content = contentOf(part);
    const name = parameterText(part.disposition, 'filename', hints) ?? parameterText(part.type, 'name', hints) ?? '';
    digest.update(JSON.stringify([part.type.value, name, part.disposition.value, content.length])).update(content);
  }
  return digest.digest('hex');
};
