import { cleanDisplayText } from '../../domain/fields.ts';
import { slugsIn } from '../../domain/mail/address.ts';
import { MAX_HTML, MAX_TEXT, type MailContent, type MailFile } from '../../domain/mail/content.ts';
import type { DeliveryReport } from '../../domain/mail/delivery-report.ts';
import { cutText, headerIdsIn } from '../../domain/mail/incoming-text.ts';
import type { Authentication } from '../../domain/webhooks/mail-origin.ts';
import type { StoredBlob } from '../blobs.ts';
import type { DetectContentType } from '../files/content-type.ts';
import { shownFilename } from '../files/filename.ts';
import { type MailIntake, receiveMail } from './receive-mail.ts';
import { findRecipient, type MailReads, type Recipient, type Unreachable } from './recipient.ts';

/** A message that was received by SMTP: its bytes, and their parsed content. */
export type ParsedMail = {
  readonly sha256: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string | null;
  readonly header_id: string | undefined;
  readonly references: string | undefined;
  readonly cause: string | undefined;
  readonly files: readonly { readonly filename: string; readonly bytes: Uint8Array }[];
  /**
   * What a mail server reports in this message about a message that an agent has sent; null if this message is no such
   * report.
   */
  readonly report: DeliveryReport | null;
};

/** The functions that are needed to accept mail by SMTP. `putFile` stores a file of a tenant. */
export type AcceptPorts = {
  readonly domain: string;
  readonly reads: MailReads;
  readonly intake: MailIntake;
  readonly putFile: (tenant_id: string, bytes: Uint8Array) => Promise<StoredBlob>;
  readonly detectContentType: DetectContentType;
  /** Records what a mail server reports about a message of this agent. */
  readonly recordReport: (tenant_id: string, agent_id: string, report: DeliveryReport) => Promise<void>;
  /** Counts a message against the tenant's quota. @throws Refusal rate_limited */
  readonly enforceQuota: (tenant_id: string) => void | Promise<void>;
  readonly now: () => number;
};

const MAX_SUBJECT = 998;
const MAX_REFERENCES = 20;
/**
 * The maximum number of files of one message. If there are more, the others are left out, and the text of the message
 * says so.
 */
const MAX_FILES = 100;

/**
 * Finds the agent whose external mailbox has this address. Returns the reason if no agent gets mail at this address.
 * @throws Refusal unavailable
 */
export const recipientAt = async (
  { domain, reads }: Pick<AcceptPorts, 'domain' | 'reads'>,
  address: string,
): Promise<Recipient | { readonly unreachable: Unreachable }> => {
  const slugs = slugsIn(address, domain);
  return slugs ? findRecipient(reads, slugs, { kind: 'external', domain }) : { unreachable: 'unknown' };
};

type File = ParsedMail['files'][number];

/** Returns the text of a message with a note about the files that were left out. A long text is cut, so that both fit. */
const withNote = (text: string, leftOut: number): string => {
  if (leftOut === 0) return text;
  const note = `\n\n[${leftOut} ${leftOut === 1 ? 'attachment was' : 'attachments were'} left out: a message can have at most ${MAX_FILES} files]`;
  return cutText(text, MAX_TEXT - note.length).text + note;
};

/**
 * Returns the content of a message and its files. The files are its attachments, and any text or HTML that is too long
 * for the content.
 */
export const contentOf = (
  mail: Omit<ParsedMail, 'sha256' | 'cause' | 'report'>,
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
    ...{ from: mail.from, to: mail.to, cc: mail.cc },
    subject: cleanDisplayText(mail.subject, MAX_SUBJECT) ?? '',
    text: withNote(plain.text, all.length - files.length),
    html: html && !html.isCut ? html.text : null,
    header_id: headerIdsIn(mail.header_id, 1)[0] ?? null,
    references: headerIdsIn(mail.references, MAX_REFERENCES),
  };
  return { content, files };
};

type Accepted = { readonly recipient: Recipient; readonly mail: ParsedMail; readonly authentication: Authentication };

const acceptFor = async (ports: AcceptPorts, { recipient, mail, authentication }: Accepted): Promise<void> => {
  const { tenant, agent, mailbox } = recipient;
  const { uniqueId } = ports.reads;
  await ports.enforceQuota(tenant.id);
  if (mail.report) await ports.recordReport(tenant.id, agent.id, mail.report);
  const { content, files } = contentOf(mail);
  // The sending mail server repeats a message if it gets no answer. The repeated message then gets the same id.
  const message_id = uniqueId('receivedmail', `${mailbox.id} ${mail.sha256}`, 0, tenant.id);
  const attachments: MailFile[] = [];
  for (const [index, { filename, bytes }] of files.entries()) {
    const { sha256, size: size_bytes } = await ports.putFile(tenant.id, bytes);
    const content_type = await ports.detectContentType(bytes);
    const attachment_id = uniqueId('mailattachment', `${message_id} ${index}`, 0, tenant.id);
    attachments.push({ attachment_id, filename: shownFilename(filename), content_type, size_bytes, sha256 });
  }
  await receiveMail(ports.intake, tenant.id, {
    message_id,
    agent_id: agent.id,
    origin: { mailbox_id: mailbox.id, sent_message_id: null, authentication, attachments },
    content,
    at: new Date(ports.now()).toISOString(),
    cause: mail.cause,
  });
};

/**
 * Records a message for each of these addresses. When the promise resolves, all messages are in the log. An address
 * that no longer gets mail is left out; if none is left, the reason is returned.
 * @throws Refusal rate_limited, unavailable, not_configured
 * @throws LogError
 */
export const acceptMail = async (
  ports: AcceptPorts,
  addresses: readonly string[],
  mail: ParsedMail,
  authentication: Authentication,
): Promise<Unreachable | null> => {
  const found = await Promise.all(addresses.map((address) => recipientAt(ports, address)));
  const recipients = found.filter((one): one is Recipient => !('unreachable' in one));
  for (const recipient of recipients) await acceptFor(ports, { recipient, mail, authentication });
  const [first] = found;
  return recipients.length === 0 && first && 'unreachable' in first ? first.unreachable : null;
};
