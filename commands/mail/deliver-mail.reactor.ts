import * as Agent from '../../domain/agents/agent.ts';
import type { Decision } from '../../domain/aggregate.ts';
import { PLATFORM } from '../../domain/event.ts';
import type { MailContent, MailFile } from '../../domain/mail/content.ts';
import * as Mail from '../../domain/mail/mail.ts';
import * as Mailbox from '../../domain/mail/mailbox.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { mailboxIdOf } from './mailbox.ts';
import { recipientsOf } from './message.ts';
import { type IncomingMail, type MailIntake, receiveMail } from './receive-mail.ts';
import { type MailReads, unreachableReason } from './recipient.ts';

/** A sent message, identified by its tenant and id. */
export type MailRef = { readonly tenant_id: string; readonly id: string };

/** A message to send by SMTP. `envelope` contains the addresses of the recipients of this attempt. */
export type OutgoingMail = {
  readonly content: MailContent;
  readonly envelope: readonly string[];
  readonly files: readonly MailFile[];
  readonly tenant_id: string;
  readonly sent_at: string;
};

/**
 * States that the SMTP server has refused one address. If `isPermanent` is false, delivery to the address is tried
 * again.
 */
export type SmtpAnswer = { readonly address: string; readonly reason: string; readonly isPermanent: boolean };

/** The functions that are needed to deliver mail. `now` returns milliseconds since 1970. */
export type MailDeliveryPorts = {
  readonly domain: string;
  readonly now: () => number;
  readonly reads: MailReads;
  readonly loadMail: (mail: MailRef) => Promise<Mail.Mail>;
  readonly openContent: (mail: MailRef, sealed: string) => Promise<MailContent>;
  readonly filesOf: (mail: MailRef, agent_id: string, attachment_ids: readonly string[]) => Promise<readonly MailFile[]>;
  readonly intake: () => Promise<MailIntake>;
  /** Sends a message by SMTP. Returns the addresses that the server refused. */
  readonly sendOut: (mail: OutgoingMail) => Promise<readonly SmtpAnswer[]>;
  readonly transact: (mail: MailRef, decide: Decision<Mail.Mail, Mail.MailEvent>) => Promise<unknown>;
};

/** A message that is being delivered, with its content and its files. */
type Job = { readonly ref: MailRef; readonly mail: Mail.Mail; readonly content: MailContent; readonly files: readonly MailFile[] };

type Result = { readonly recipient: number; readonly reason: string | null; readonly isPermanent: boolean };

const reached = (recipient: number): Result => ({ recipient, reason: null, isPermanent: true });

/**
 * Reasons for a failed delivery that can disappear without a change of the message. For example, an agent without a
 * mailbox will soon have one.
 */
const TEMPORARY = ['no_mailbox', 'tenant_suspended'];

/**
 * Returns the message in the form in which an agent receives it. If this is repeated for the same recipient, the
 * message and its files get the same ids.
 */
const incomingMail = ({ reads, now }: MailDeliveryPorts, { ref, mail, content, files }: Job, owner: Mailbox.Mailbox): IncomingMail => {
  const { uniqueId } = reads;
  const message_id = uniqueId('maildelivery', `${ref.id} ${owner.agent_id}`, 0, ref.tenant_id);
  const attachments = files.map((file, index) => ({
    ...file,
    attachment_id: uniqueId('mailattachment', `${message_id} ${index}`, 0, ref.tenant_id),
  }));
  return {
    message_id,
    agent_id: owner.agent_id,
    origin: { mailbox_id: owner.id, sent_message_id: ref.id, authentication: null, attachments },
    // Agents are programs, so their mail is marked as it is when it leaves by SMTP.
    content: { ...content, automatic: mail.in_reply_to === null ? 'generated' : 'reply' },
    at: new Date(now()).toISOString(),
    cause: mail.in_reply_to ?? undefined,
  };
};

/** Delivers a message to an agent of the same tenant. @throws Refusal unavailable @throws LogError unavailable */
const deliverInternally = async (ports: MailDeliveryPorts, job: Job, recipient: Mail.InternalRecipient): Promise<Result> => {
  const { reads, domain } = ports;
  const { tenant_id } = job.ref;
  const { index, agent_id } = recipient;
  const id = mailboxIdOf(reads.uniqueId, { agent_id, kind: 'internal', domain });
  const [tenant, agent, mailbox] = await Promise.all([
    reads.load(Tenant, tenant_id, tenant_id),
    reads.load(Agent, tenant_id, agent_id),
    reads.load(Mailbox, PLATFORM, id),
  ]);
  const reason = unreachableReason({ tenant: tenant.state, agent: agent.state, mailbox: mailbox.state }, 'internal');
  if (reason) return { recipient: index, reason, isPermanent: !TEMPORARY.includes(reason) };
  await receiveMail(await ports.intake(), tenant_id, incomingMail(ports, job, mailbox.state));
  return reached(index);
};

/** Sends a message by SMTP to the external recipients who have not received it yet. */
const deliverExternally = async (ports: MailDeliveryPorts, { ref, mail, content, files }: Job): Promise<Result[]> => {
  const indexes = mail.external.filter((index) => mail.open.includes(index));
  if (indexes.length === 0) return [];
  const addresses = recipientsOf(content);
  const envelope = indexes.map((index) => addresses[index]!);
  const refused = await ports.sendOut({ content, envelope, files, tenant_id: ref.tenant_id, sent_at: mail.created_at });
  return indexes.map((recipient) => {
    const answer = refused.find(({ address }) => address === addresses[recipient]);
    return answer ? { recipient, reason: answer.reason, isPermanent: answer.isPermanent } : reached(recipient);
  });
};

/**
 * Makes the due attempt to deliver a sent message. Agents of the tenant get it directly, and all other recipients by
 * SMTP. If the attempt is repeated after a crash, agents do not get the message twice, but external recipients may,
 * because SMTP cannot prevent this. Both copies then have the same Message-ID.
 */
export const deliverMail = async (ports: MailDeliveryPorts, ref: MailRef): Promise<void> => {
  const mail = await ports.loadMail(ref);
  // The read model that lists due messages may be outdated, so this attempt may already have been made.
  if (mail.next_attempt_at === null || Date.parse(mail.next_attempt_at) > ports.now()) return;
  const content = await ports.openContent(ref, mail.sealed_content);
  const files = await ports.filesOf(ref, mail.agent_id, mail.attachment_ids);
  const job = { ref, mail, content, files };
  const open = mail.internal.filter(({ index }) => mail.open.includes(index));
  const results = [
    ...(await Promise.all(open.map((recipient) => deliverInternally(ports, job, recipient)))),
    ...(await deliverExternally(ports, job)),
  ];
  const bounces = results.flatMap(({ recipient, reason, isPermanent }) => (reason !== null && isPermanent ? [{ recipient, reason }] : []));
  const delivered = results.filter(({ reason }) => reason === null).map(({ recipient }) => recipient);
  const reason = results.find((one) => one.reason !== null && !one.isPermanent)?.reason ?? 'unknown';
  await ports.transact(ref, Mail.recordAttempt({ attempt: mail.attempts + 1, delivered, bounces, reason }, ports.now()));
};
