import { hash } from 'node:crypto';
import type { MessageParts } from '../../../commands/mail/mail-content.ts';
import { automaticKind } from '../../../domain/mail/automatic-mail.ts';
import { type DeliveryReport, deliveryReport } from '../../../domain/mail/delivery-report.ts';
import { fieldOf, fieldsOf, type HeaderField } from './header-fields.ts';
import { decodeHeader } from './header-text.ts';
import { addressesIn, type NamedAddress } from './mail-addresses.ts';
import { mailBody } from './mail-body.ts';
import { mailIdentity } from './mail-identity.ts';
import { type MimePart, parseMime } from './mime-tree.ts';
import { decodeTransfer } from './transfer-encoding.ts';

/** Each signature can make the check of the sender read the whole message again and ask the DNS. */
const MAX_SIGNATURES = 20;
const MAX_HINTS = 5;

export const leavesOf = (part: MimePart): MimePart[] => (part.children.length > 0 ? part.children.flatMap(leavesOf) : [part]);

/** Returns the charsets that a message names in its parts and in the encoded words of its header. */
const charsetsIn = (fields: readonly HeaderField[], leaves: readonly MimePart[]): string[] => {
  const ofParts = leaves.flatMap(({ type }) => type.parameters.get('charset') ?? []);
  const ofWords = fields
    .filter(({ name }) => /^(?:subject|from|to|cc)$/.test(name))
    .flatMap(({ value }) => /=\?([^?\s*]{1,40})[?*]/.exec(value)?.[1] ?? []);
  return [...new Set([...ofParts, ...ofWords])].slice(0, MAX_HINTS);
};

const REPORTED = /^(?:message\/(?:rfc822|global)|text\/rfc822-headers|message\/global-headers)$/;
const STATUS = /^message\/(?:global-)?delivery-status$/;

/** Null if the message is not a delivery report of a mail server. */
const reportIn = (root: MimePart, leaves: readonly MimePart[]): DeliveryReport | null => {
  if (root.type.value !== 'multipart/report') return null;
  const textOf = (type: RegExp): string => {
    const found = leaves.find((leaf) => type.test(leaf.type.value));
    return found ? decodeTransfer(found.body, found.encoding).toString() : '';
  };
  return deliveryReport(textOf(STATUS), textOf(REPORTED));
};

const calendarMethod = (leaves: readonly MimePart[]): string | undefined =>
  leaves.find(({ type }) => type.value === 'text/calendar')?.type.parameters.get('method');

/**
 * Parses a message. `sender` is the address in the envelope.
 * @throws Error if the message is nested too deeply or has too many signatures
 */
export const parseMail = (raw: ArrayBuffer, sender: string): MessageParts => {
  const root = parseMime(Buffer.from(raw));
  const { fields } = root;
  if (fieldsOf(fields, 'dkim-signature').length > MAX_SIGNATURES) throw new Error(`more than ${MAX_SIGNATURES} DKIM signatures`);
  const leaves = leavesOf(root);
  const hints = charsetsIn(fields, leaves);
  const addresses = (name: string): NamedAddress[] => fieldsOf(fields, name).flatMap((value) => addressesIn(value, hints));
  const [from] = addresses('from');
  const sha256 = hash('sha256', new Uint8Array(raw), 'hex');
  return {
    sha256,
    identity: mailIdentity(root, leaves, hints) ?? sha256,
    from: from?.address ?? sender,
    from_name: from?.name ?? '',
    to: addresses('to').map(({ address }) => address),
    cc: addresses('cc').map(({ address }) => address),
    subject: decodeHeader(fieldOf(fields, 'subject') ?? '', hints),
    ...mailBody(root, hints),
    header_id: fieldOf(fields, 'message-id'),
    references: [fieldOf(fields, 'references'), fieldOf(fields, 'in-reply-to')].filter((value) => value !== undefined).join(' '),
    automatic: automaticKind({
      ...{ sender, from: from?.address ?? '', type: root.type.value, reportType: root.type.parameters.get('report-type') },
      ...{ calendarMethod: calendarMethod(leaves), headers: (name) => fieldsOf(fields, name) },
    }),
    cause: fieldOf(fields, 'annals-delivery'),
    report: reportIn(root, leaves),
  };
};
