import { hash } from 'node:crypto';
import PostalMime, { type Address, type Email } from 'postal-mime';
import type { MessageParts } from '../../commands/mail/mail-content.ts';
import { type DeliveryReport, deliveryReport } from '../../domain/mail/delivery-report.ts';
import { MAX_HEADER_BYTES } from './message-shape.ts';

/** Each level of messages in messages needs as much memory as the message itself. A deeper one becomes a file. */
const LIMITS = { maxNestingDepth: 64, maxHeadersSize: MAX_HEADER_BYTES, maxRfc822NestingDepth: 3 };
/**
 * The maximum number of DKIM signatures. Each one can make the check of the sender read the whole message again and ask
 * the DNS.
 */
const MAX_SIGNATURES = 20;

const addressesOf = (list: readonly Address[] | undefined): string[] =>
  (list ?? []).flatMap(({ address, group }) => (group ? addressesOf(group) : address ? [address] : []));

const bytesOf = (content: ArrayBuffer | Uint8Array | string): Uint8Array =>
  typeof content === 'string' ? new TextEncoder().encode(content) : new Uint8Array(content);

const headerOf = ({ headers }: Email, name: string): string | undefined => headers.find(({ key }) => key === name)?.value;

const textOf = (content: ArrayBuffer | Uint8Array | string): string => new TextDecoder().decode(bytesOf(content));

/** Reads the delivery report of a mail server from a message; null if the message is not such a report. */
const reportIn = async (raw: ArrayBuffer, email: Email): Promise<DeliveryReport | null> => {
  if (!/^multipart\/report\b/i.test(headerOf(email, 'content-type') ?? '')) return null;
  // With the option `forceRfc822Attachments`, the parser returns the reported message as an attachment, instead of
  // adding it to the text.
  const { attachments } = await PostalMime.parse(raw, { ...LIMITS, forceRfc822Attachments: true });
  const part = (type: RegExp): string => {
    const found = attachments.find(({ mimeType }) => type.test(mimeType));
    return found ? textOf(found.content) : '';
  };
  return deliveryReport(part(/^message\/delivery-status$/i), part(/^(?:message\/rfc822|text\/rfc822-headers)$/i));
};

/**
 * Parses a message. `sender` is the address in the envelope.
 * @throws Error if the message is nested too deeply or has too many signatures
 */
export const parseMail = async (raw: ArrayBuffer, sender: string): Promise<MessageParts> => {
  const email = await PostalMime.parse(raw, LIMITS);
  if (email.headers.filter(({ key }) => key === 'dkim-signature').length > MAX_SIGNATURES)
    throw new Error(`more than ${MAX_SIGNATURES} DKIM signatures`);
  return {
    sha256: hash('sha256', new Uint8Array(raw), 'hex'),
    from: email.from?.address ?? sender,
    to: addressesOf(email.to),
    cc: addressesOf(email.cc),
    subject: email.subject ?? '',
    text: email.text ?? '',
    html: email.html ?? null,
    header_id: email.messageId,
    references: [email.references, email.inReplyTo].filter((value) => value !== undefined).join(' '),
    cause: headerOf(email, 'annals-delivery')?.trim(),
    files: email.attachments.map(({ filename, content }) => ({ filename: filename ?? 'file', bytes: bytesOf(content) })),
    report: await reportIn(raw, email),
  };
};
