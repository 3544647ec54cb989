import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { authenticate, type DNSResolver } from 'mailauth';
import PostalMime, { type Address, type Email } from 'postal-mime';
import type { ParsedMail } from '../../commands/mail/accept-mail.ts';
import { type DeliveryReport, deliveryReport } from '../../domain/mail/delivery-report.ts';
import type { Authentication } from '../../domain/webhooks/mail-origin.ts';

const LIMITS = { maxNestingDepth: 64, maxHeadersSize: 256 * 1024 };
/**
 * The maximum time to check a sender, in milliseconds. If the sender's domain does not answer in time, the sender is
 * recorded as not checked.
 */
const AUTHENTICATION_TIMEOUT_MS = 10_000;

const addressesOf = (list: readonly Address[] | undefined): string[] =>
  (list ?? []).flatMap(({ address, group }) => (group ? addressesOf(group) : address ? [address] : []));

const bytesOf = (content: ArrayBuffer | Uint8Array | string): Uint8Array =>
  typeof content === 'string' ? new TextEncoder().encode(content) : new Uint8Array(content);

const headerOf = ({ headers }: Email, name: string): string | undefined => headers.find(({ key }) => key === name)?.value;

const textOf = (content: ArrayBuffer | Uint8Array | string): string => new TextDecoder().decode(bytesOf(content));

/** Reads the delivery report of a mail server from a message; null if the message is not such a report. */
const reportIn = async (raw: Uint8Array, email: Email): Promise<DeliveryReport | null> => {
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

/** Parses a message. `sender` is the address in the envelope. @throws Error if the message is nested too deeply */
export const parseMail = async (raw: Uint8Array, sender: string): Promise<ParsedMail> => {
  const email = await PostalMime.parse(raw, LIMITS);
  return {
    sha256: hash('sha256', raw, 'hex'),
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

/** The facts about the connection and the envelope of a received message. */
export type Envelope = { readonly ip: string; readonly helo: string; readonly sender: string; readonly mta: string };

type Verdict = { readonly status?: { readonly result?: string } } | false | undefined;

const resultOf = (verdict: Verdict): string => (verdict ? verdict.status?.result : undefined) ?? 'none';

const NOT_CHECKED: Authentication = { spf: 'temperror', dkim: 'temperror', dmarc: 'temperror' };

/**
 * Returns the overall DKIM result. A message has one result per signature. If one of them is `pass`, the overall result
 * is `pass`.
 */
const bestOf = (results: readonly Verdict[] = []): string => {
  const found = results.map(resultOf);
  return found.includes('pass') ? 'pass' : (found[0] ?? 'none');
};

/** `resolver` looks up DNS records; by default, that of the system. */
type CheckOptions = { readonly resolver?: DNSResolver; readonly timeoutMs?: number };

/** Checks whether a message comes from its claimed sender, by SPF, DKIM and DMARC. Never throws. */
export const checkSender = async (
  raw: Uint8Array,
  { ip, helo, sender, mta }: Envelope,
  { resolver, timeoutMs = AUTHENTICATION_TIMEOUT_MS }: CheckOptions = {},
): Promise<Authentication> => {
  const connection = { ip: isIP(ip) === 0 ? '127.0.0.1' : ip, helo, sender, mta };
  const options = { ...connection, disableArc: true, disableBimi: true, ...(resolver && { resolver }) };
  const checking = authenticate(Buffer.from(raw.buffer, raw.byteOffset, raw.length), options).then(
    ({ spf, dkim, dmarc }): Authentication => ({
      spf: resultOf(spf as Verdict),
      dkim: bestOf((dkim as { results?: readonly Verdict[] } | undefined)?.results),
      dmarc: resultOf(dmarc as Verdict),
    }),
    () => NOT_CHECKED,
  );
  return Promise.race([checking, sleep(timeoutMs, NOT_CHECKED, { ref: false })]);
};
