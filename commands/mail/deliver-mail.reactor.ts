import * as Agent from '../../domain/agents/agent.ts';
import type { MailContent, MailFile } from '../../domain/mail/content.ts';
import * as Mail from '../../domain/mail/mail.ts';
import * as Mailbox from '../../domain/mail/mailbox.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { ReactorCtx, UsesSecrets } from '../context.ts';
import { mailboxIdOf } from './mailbox.ts';
import { openContent, recipientsOf } from './message.ts';
import { type IncomingMail, type MailIntake, receiveMail } from './receive-mail.ts';
import { unreachableReason } from './recipient.ts';

/** A message to send by SMTP. `envelope`: recipients of this attempt. */
export type OutgoingMail = {
  readonly content: MailContent;
  readonly envelope: readonly string[];
  readonly files: readonly MailFile[];
  readonly tenant_id: string;
  readonly sent_at: string;
};

/** The SMTP server has refused one address. Unless `isPermanent`, delivery to it is tried again. */
export type SmtpAnswer = { readonly address: string; readonly reason: string; readonly isPermanent: boolean };

type MailCtx = ReactorCtx & UsesSecrets<'open' | 'uniqueId'>;

export type MailDelivery = {
  readonly domain: string;
  readonly filesOf: (
    owner: { readonly tenant_id: string; readonly agent_id: string },
    attachment_ids: readonly string[],
  ) => Promise<readonly MailFile[]>;
  readonly intake: MailIntake;
  /** Sends the message by SMTP. Returns the refused addresses. */
  readonly sendOut: (mail: OutgoingMail) => Promise<readonly SmtpAnswer[]>;
};

type Job = { readonly id: string; readonly mail: Mail.Mail; readonly content: MailContent; readonly files: readonly MailFile[] };

type Result = { readonly recipient: number; readonly reason: string | null; readonly isPermanent: boolean };

const reached = (recipient: number): Result => ({ recipient, reason: null, isPermanent: true });

/** Reasons that can disappear without a change of the message: an agent without a mailbox will soon have one. */
const TEMPORARY = ['no_mailbox', 'tenant_suspended'];

/** Returns the message as an agent receives it. A repeat for the same recipient gives message and files the same ids. */
const incomingMail = ({ secrets: { uniqueId }, at }: MailCtx, { id, mail, content, files }: Job, owner: Mailbox.Mailbox): IncomingMail => {
  const message_id = uniqueId('maildelivery', `${id} ${owner.agent_id}`);
  const attachments = files.map((file, index) => ({ ...file, attachment_id: uniqueId('mailattachment', `${message_id} ${index}`) }));
  return {
    message_id,
    agent_id: owner.agent_id,
    origin: { mailbox_id: owner.id, sent_message_id: id, authentication: null, attachments },
    // Agents are programs, so their mail is marked as it is when it leaves by SMTP.
    content: { ...content, automatic: mail.in_reply_to === null ? 'generated' : 'reply' },
    at: at(),
    cause: mail.in_reply_to ?? undefined,
  };
};

/** The agent belongs to the same tenant. @throws Refusal unavailable @throws LogError unavailable */
const deliverInternally = async (
  ctx: MailCtx,
  { intake, domain }: MailDelivery,
  job: Job,
  { index, agent_id }: Mail.InternalRecipient,
): Promise<Result> => {
  const id = mailboxIdOf(ctx.secrets.uniqueId, { agent_id, kind: 'internal', domain });
  const [tenant, agent, mailbox] = await Promise.all([ctx.load(Tenant, ctx.tenant), ctx.load(Agent, agent_id), ctx.load(Mailbox, id)]);
  const reason = unreachableReason({ tenant: tenant.state, agent: agent.state, mailbox: mailbox.state }, 'internal');
  if (reason) return { recipient: index, reason, isPermanent: !TEMPORARY.includes(reason) };
  await receiveMail(intake, ctx.tenant, incomingMail(ctx, job, mailbox.state));
  return reached(index);
};

/** Delivers by SMTP, to external recipients who have not received the message yet. */
const deliverExternally = async (tenant_id: string, { sendOut }: MailDelivery, { mail, content, files }: Job): Promise<Result[]> => {
  const indexes = mail.external.filter((index) => mail.open.includes(index));
  if (indexes.length === 0) return [];
  const addresses = recipientsOf(content);
  const envelope = indexes.map((index) => addresses[index]!);
  const refused = await sendOut({ content, envelope, files, tenant_id, sent_at: mail.created_at });
  return indexes.map((recipient) => {
    const answer = refused.find(({ address }) => address === addresses[recipient]);
    return answer ? { recipient, reason: answer.reason, isPermanent: answer.isPermanent } : reached(recipient);
  });
};

const attemptOf = (results: readonly Result[], attempt: number): Mail.Attempt => ({
  attempt,
  delivered: results.filter(({ reason }) => reason === null).map(({ recipient }) => recipient),
  bounces: results.flatMap(({ recipient, reason, isPermanent }) => (reason !== null && isPermanent ? [{ recipient, reason }] : [])),
  reason: results.find((one) => one.reason !== null && !one.isPermanent)?.reason ?? 'unknown',
});

/**
 * Makes the due attempt: directly to agents of the tenant, by SMTP to others. Repeated after a crash, agents do not get the message twice;
 * external recipients may, with the same Message-ID, because SMTP cannot prevent this.
 */
export const deliverMail = async (ctx: MailCtx, delivery: MailDelivery, id: string): Promise<void> => {
  const { tenant } = ctx;
  const { state: mail } = await ctx.load(Mail, id);
  // The read model that lists due messages may be outdated, so this attempt may already have been made.
  if (mail.next_attempt_at === null || mail.next_attempt_at > ctx.at()) return;
  const content = await openContent(ctx.secrets.open, { tenant, id }, mail.sealed_content);
  const files = await delivery.filesOf({ tenant_id: tenant, agent_id: mail.agent_id }, mail.attachment_ids);
  const job = { id, mail, content, files };
  const open = mail.internal.filter(({ index }) => mail.open.includes(index));
  const results = [
    ...(await Promise.all(open.map((recipient) => deliverInternally(ctx, delivery, job, recipient)))),
    ...(await deliverExternally(tenant, delivery, job)),
  ];
  await ctx.transact(Mail, id, Mail.recordAttempt(attemptOf(results, mail.attempts + 1), Date.parse(ctx.at())));
};
