import { z } from 'zod';
import type * as Agent from '../../domain/agents/agent.ts';
import { PLATFORM } from '../../domain/event.ts';
import { displayText, Email, text } from '../../domain/fields.ts';
import { Id25, idOf } from '../../domain/id.ts';
import { addressOf, slugsIn } from '../../domain/mail/address.ts';
import { headerIdOf, MAX_HTML, MAX_TEXT, type MailContent, referencesTo } from '../../domain/mail/content.ts';
import * as Mail from '../../domain/mail/mail.ts';
import * as Mailbox from '../../domain/mail/mailbox.ts';
import { conflict, invalid, Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { loadAgent } from '../agents/agent.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import type { ReadDelivery } from '../deliveries/delivery.ts';
import { redactText } from '../redaction/redaction-patterns.ts';
import { allowsExternalMail, mailboxIdOf } from './mailbox.ts';
import { type Message, readMessage, recipientsOf, sealContent } from './message.ts';
import { agentWithSlug, mailReadsOf } from './recipient.ts';

const MAX_RECIPIENTS = 50;
const MAX_ATTACHMENTS = 20;
const MAX_ATTACHED_BYTES = 25 * 1024 * 1024;

const Address = Email.meta({ examples: ['ada@example.com'] });

export const MailSend = z
  .strictObject({
    to: z.array(Address).min(1).max(MAX_RECIPIENTS).meta({ description: 'The recipients; addresses of agents of the tenant need no SMTP' }),
    cc: z
      .array(Address)
      .max(MAX_RECIPIENTS)
      .default([])
      .meta({ description: 'Who gets a copy', examples: [[]] }),
    subject: displayText(0, 255).meta({ description: 'The subject', examples: ['Review of pull request 42'] }),
    text: text(0, MAX_TEXT).meta({ description: 'The message as plain text', examples: ['It looks good.'] }),
    html: text(0, MAX_HTML)
      .nullable()
      .default(null)
      .meta({ description: 'The message as HTML', examples: [null] }),
    in_reply_to: idOf('message', 'The message of the agent that this one answers')
      .nullable()
      .default(null)
      .meta({ examples: [null] }),
    attachment_ids: z
      .array(Id25)
      .max(MAX_ATTACHMENTS)
      .default([])
      .meta({ description: 'Attachments of messages of the agent, with at most 25 MiB together', examples: [[]] }),
  })
  .meta({ id: 'MailSend', examples: [{ to: ['ada@example.com'], subject: 'Review of pull request 42', text: 'It looks good.' }] });

/** The settings of the installation: the domain of the agents' addresses, and whether an SMTP server is configured. */
export type MailSettings = { readonly domain: string | null; readonly hasSmtp: boolean };

export type FindAttachments = (agent_id: string, ids: readonly string[]) => Promise<readonly { id: string; size_bytes: number }[]>;

export type SendParts = { readonly settings: MailSettings; readonly readDelivery: ReadDelivery; readonly findAttachments: FindAttachments };

type Send = Input<typeof MailSend, 'tenant_id' | 'agent_id'>;
type Sender = { readonly tenant: Tenant.Tenant; readonly agent: Agent.Agent; readonly domain: string };

const loadSender = async (ctx: Ctx, agent_id: string, { domain }: MailSettings): Promise<Sender> => {
  const { state: agent } = await loadAgent(ctx, agent_id);
  if (domain === null) throw new Refusal('not_configured', 'MAIL_DOMAIN is not set: agents have no mail addresses');
  if (!agent.is_active) throw conflict('/path/agent_id', 'agent_inactive', 'The agent is inactive: activate it to send mail');
  return { tenant: (await ctx.load(Tenant, ctx.tenant)).state, agent, domain };
};

type Routes = Pick<Mail.SentFields, 'internal' | 'external'>;

/** The place in the body of the request. */
const pointerTo = ({ to }: Send, index: number): string => (index < to.length ? `/to/${index}` : `/cc/${index - to.length}`);

/**
 * Divides the recipients into agents of the tenant and all others.
 * @throws Refusal invalid if an address in the tenant's part of the mail domain is not an agent's
 */
const routesOf = async (ctx: Ctx, input: Send, { tenant, domain }: Sender): Promise<Routes> => {
  const reads = mailReadsOf(ctx);
  const internal: Mail.InternalRecipient[] = [];
  const external: number[] = [];
  for (const [index, address] of recipientsOf(input).entries()) {
    const slugs = slugsIn(address, domain);
    if (slugs?.tenant !== tenant.slug) external.push(index);
    else {
      const agent = await agentWithSlug(reads, ctx.tenant, slugs.agent);
      if (!agent) throw invalid(pointerTo(input, index), 'is the address of no agent of this tenant', 'unknown_recipient');
      internal.push({ index, agent_id: agent.id });
    }
  }
  return { internal, external };
};

/** Checks that the sender may send external mail. @throws Refusal forbidden, not_configured */
const assertMaySendOut = (sender: Sender, { hasSmtp }: MailSettings): void => {
  const { tenant, agent } = sender;
  if (!allowsExternalMail(sender))
    throw new Refusal(
      'forbidden',
      tenant.external_mail_enabled
        ? `External mail of the agent ${agent.slug} is off: set external_mail_enabled`
        : 'External mail of the tenant is off: set external_mail_enabled',
    );
  if (!hasSmtp) throw new Refusal('not_configured', 'SMTP_URL is not set: mail can be sent only to agents of the tenant');
};

/** The sender's mailboxes. @throws Refusal conflict if one is paused */
const mailboxesOf = async (ctx: Ctx, { agent, domain }: Sender, { internal, external }: Routes): Promise<string[]> => {
  const kinds: Mailbox.MailboxKind[] = [
    ...(internal.length > 0 ? ['internal' as const] : []),
    ...(external.length > 0 ? ['external' as const] : []),
  ];
  const ids = kinds.map((kind) => mailboxIdOf(ctx.secrets.uniqueId, { agent_id: agent.id, kind, domain }));
  const found = await Promise.all(ids.map((id) => ctx.load(Mailbox, id, { tenant: PLATFORM })));
  if (found.some(({ state }) => state.is_paused_by_person))
    throw conflict('/path/agent_id', 'mailbox_paused', 'The mailbox of the agent is paused: a super-admin must resume it');
  return found.filter(({ state }) => state.status === 'present').map(({ id }) => id);
};

/** @throws Refusal invalid if one is unknown or in the list twice, or their total size is too large */
const checkAttachments = async (ctx: Ctx, { agent_id, attachment_ids }: Send, find: FindAttachments): Promise<void> => {
  if (attachment_ids.length === 0) return;
  const repeated = attachment_ids.findIndex((id, index) => attachment_ids.indexOf(id) < index);
  if (repeated >= 0) throw invalid(`/attachment_ids/${repeated}`, 'is in the list twice', 'duplicate');
  const found = await ctx.sideEffect(() => find(agent_id, attachment_ids));
  const known = new Set(found.map(({ id }) => id));
  const unknown = attachment_ids.findIndex((id) => !known.has(id));
  if (unknown >= 0) throw invalid(`/attachment_ids/${unknown}`, 'is not an attachment of this agent', 'unknown_attachment');
  const bytes = found.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  if (bytes > MAX_ATTACHED_BYTES) throw invalid('/attachment_ids', `have more than ${MAX_ATTACHED_BYTES} bytes together`, 'too_large');
};

/** The message to which the new one replies. @throws Refusal invalid if the agent has no such message */
const answeredMessage = async (ctx: Ctx, { agent_id, in_reply_to }: Send, readDelivery: ReadDelivery): Promise<Message | null> => {
  if (in_reply_to === null) return null;
  return readMessage(ctx, agent_id, in_reply_to, readDelivery).catch((error: unknown) => {
    if (error instanceof Refusal && error.code === 'not_found')
      throw invalid('/in_reply_to', 'is not a message of this agent', 'unknown_message');
    throw error;
  });
};

/** Applies the tenant's redaction patterns. @throws Refusal invalid if this takes too long */
const redactTexts = async (ctx: Ctx, { subject, text: plain, html }: Send): Promise<Pick<MailContent, 'subject' | 'text' | 'html'>> => ({
  subject: await redactText(ctx, '/subject', subject),
  text: await redactText(ctx, '/text', plain),
  html: html === null ? null : await redactText(ctx, '/html', html),
});

/**
 * Redacts by the tenant's patterns before the message is stored and sent. Agents of the tenant get it without SMTP.
 * @throws Refusal not_found, forbidden if external mail is off, not_configured, invalid, conflict
 */
export const sendMail =
  ({ settings, readDelivery, findAttachments }: SendParts) =>
  async (ctx: Ctx, input: Send): Promise<Loaded<Message & { message_id: string }>> => {
    const sender = await loadSender(ctx, input.agent_id, settings);
    const routes = await routesOf(ctx, input, sender);
    if (routes.external.length > 0) assertMaySendOut(sender, settings);
    const mailbox_ids = await mailboxesOf(ctx, sender, routes);
    await checkAttachments(ctx, input, findAttachments);
    const answered = await answeredMessage(ctx, input, readDelivery);
    const texts = await redactTexts(ctx, input);
    const id = ctx.newId();
    const { to, cc, in_reply_to, attachment_ids, agent_id } = input;
    const from = addressOf({ agent: sender.agent.slug, tenant: sender.tenant.slug }, sender.domain);
    const header_id = headerIdOf(id, sender.domain);
    const references = answered ? referencesTo(answered) : [];
    const content: MailContent = { from, to, cc, ...texts, header_id, references };
    const sealed_content = await sealContent(ctx.secrets.seal, { tenant: ctx.tenant, id }, content);
    const fields = { agent_id, mailbox_ids, ...routes, in_reply_to, attachment_ids, sealed_content };
    const loaded = await ctx.transact(Mail, id, Mail.send(fields), { expectNew: true });
    const message = await readMessage(ctx, agent_id, id, readDelivery);
    return { ...loaded, state: { ...message, message_id: id } };
  };
