import * as Delivery from '../../domain/deliveries/delivery.ts';
import type { Authentication } from '../../domain/deliveries/mail-origin.ts';
import { slugsIn } from '../../domain/mail/address.ts';
import type { MailContent, MailFile } from '../../domain/mail/content.ts';
import type { DeliveryReport } from '../../domain/mail/delivery-report.ts';
import type { StoredBlob } from '../blobs.ts';
import { shownFilename } from '../files/filename.ts';
import type { MessageParts } from './mail-content.ts';
import { causeInThread } from './mail-thread.ts';
import { type MailIntake, receiveMail } from './receive-mail.ts';
import { findRecipient, type MailReads, type Recipient, type Unreachable } from './recipient.ts';

/** A message received by SMTP; see mail-content.ts. */
export type ParsedMail = Pick<MessageParts, 'sha256' | 'identity' | 'cause' | 'report'> & {
  readonly content: MailContent;
  readonly files: readonly { readonly filename: string; readonly bytes: Uint8Array; readonly content_type: string }[];
};

/** `putFile` stores a file of a tenant. */
export type AcceptPorts = {
  readonly domain: string;
  readonly reads: MailReads;
  readonly intake: MailIntake;
  readonly putFile: (tenant_id: string, bytes: Uint8Array) => Promise<StoredBlob>;
  /** What a mail server reports about a message of this agent. */
  readonly recordReport: (tenant_id: string, agent_id: string, report: DeliveryReport) => Promise<void>;
  /** @throws Refusal rate_limited */
  readonly enforceQuota: (tenant_id: string) => void | Promise<void>;
  readonly now: () => number;
};

/** Returns the reason if no agent's external mailbox has this address. @throws Refusal unavailable */
export const recipientAt = async (
  { domain, reads }: Pick<AcceptPorts, 'domain' | 'reads'>,
  address: string,
): Promise<Recipient | { readonly unreachable: Unreachable }> => {
  const slugs = slugsIn(address, domain);
  return slugs ? findRecipient(reads, slugs, { kind: 'external', domain }) : { unreachable: 'unknown' };
};

type Accepted = { readonly recipient: Recipient; readonly mail: ParsedMail; readonly authentication: Authentication };

const acceptFor = async (ports: AcceptPorts, { recipient, mail, authentication }: Accepted): Promise<void> => {
  const { tenant, agent, mailbox } = recipient;
  const { uniqueId, load } = ports.reads;
  const now = ports.now();
  await ports.enforceQuota(tenant.id);
  // The id is the same if the sending server repeats a message without an answer, or if it comes on several routes. Earlier versions
  // derived the id from all bytes.
  const idOf = (digest: string): string => uniqueId('receivedmail', `${mailbox.id} ${digest}`, 0, tenant.id);
  const earlier = await load(Delivery, tenant.id, idOf(mail.sha256));
  if (earlier.state.status !== 'absent') return;
  const message_id = idOf(mail.identity);
  if (mail.report) await ports.recordReport(tenant.id, agent.id, mail.report);
  const attachments: MailFile[] = [];
  for (const [index, { filename, bytes, content_type }] of mail.files.entries()) {
    const { sha256, size: size_bytes } = await ports.putFile(tenant.id, bytes);
    const attachment_id = uniqueId('mailattachment', `${message_id} ${index}`, 0, tenant.id);
    attachments.push({ attachment_id, filename: shownFilename(filename), content_type, size_bytes, sha256 });
  }
  await receiveMail(ports.intake, tenant.id, {
    message_id,
    agent_id: agent.id,
    origin: { mailbox_id: mailbox.id, sent_message_id: null, authentication, attachments },
    content: mail.content,
    at: new Date(now).toISOString(),
    cause: await causeInThread(ports.reads, { tenant_id: tenant.id, mail, now }),
  });
};

/**
 * When this resolves, a message for each address is in the log. Leaves out addresses that no longer get mail; returns the reason if none
 * is left.
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
  // Several addresses can be those of one mailbox, such as `agent+a@` and `agent+b@`.
  const reachable = found.filter((one): one is Recipient => !('unreachable' in one));
  const recipients = [...new Map(reachable.map((one) => [one.mailbox.id, one])).values()];
  for (const recipient of recipients) await acceptFor(ports, { recipient, mail, authentication });
  const [first] = found;
  return recipients.length === 0 && first && 'unreachable' in first ? first.unreachable : null;
};
