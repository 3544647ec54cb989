import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import type { ReadDelivery } from '../../commands/deliveries/delivery.ts';
import { DIRECTIONS, type Message, readMessage } from '../../commands/mail/message.ts';
import { MailSend, type MailSettings, sendMail } from '../../commands/mail/send-mail.ts';
import { Timestamp } from '../../domain/fields.ts';
import { Id25, idOf } from '../../domain/id.ts';
import * as Attachment from '../../domain/mail/attachment.ts';
import { AUTOMATIC_KINDS } from '../../domain/mail/automatic-mail.ts';
import { MAIL_STATUSES } from '../../domain/mail/mail.ts';
import {
  ATTACHMENT_SORTS,
  attachmentPage,
  attachmentsOfMessages,
  attachmentsWithIds,
  messagePage,
} from '../../projections/mail/message.queries.ts';
import { AgentAttachmentRow, messages } from '../../projections/mail/message.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { asOfQuery, listQuery, TimeRange, windowOf } from '../http/paging.ts';
import { ignoreUnavailable } from '../http/stale-if-error.ts';

const AGENT = '/tenant/:tenant_id/agents/:agent_id';

const Address = z.string().meta({ description: 'An e-mail address', examples: ['ada@example.com'] });
const Check = z.string().meta({ description: 'The result, such as `pass`, `fail` or `none`', examples: ['pass'] });

const MailRead = z
  .object({
    id: idOf('message'),
    direction: z.enum(DIRECTIONS).meta({ description: 'Whether the agent has received or sent it' }),
    status: z
      .enum([...MAIL_STATUSES, 'received'])
      .meta({ description: '`queued`: not delivered to everybody yet; `bounced`: somebody did not get it', examples: ['sent'] }),
    from: Address.meta({ description: 'The sender' }),
    from_name: z
      .string()
      .nullable()
      .meta({ description: 'The name of the sender, as the message states it; null if it states none', examples: ['Ada Lovelace'] }),
    to: z.array(Address).meta({ description: 'The recipients' }),
    cc: z.array(Address).meta({ description: 'Who got a copy', examples: [[]] }),
    bounced: z.array(Address).meta({ description: 'The recipients who did not get it', examples: [[]] }),
    subject: z.string().meta({ description: 'The subject', examples: ['Review of pull request 42'] }),
    text: z.string().meta({ description: 'The message as plain text', examples: ['It looks good.'] }),
    html: z
      .string()
      .nullable()
      .meta({ description: 'The message as HTML; never show it without cleaning it', examples: [null] }),
    in_reply_to: idOf('message')
      .nullable()
      .meta({ description: 'The message of the agent that it answers; null if it is none', examples: [null] }),
    attachments: z.array(AgentAttachmentRow).meta({ description: 'The attached files' }),
    automatic: z
      .enum(AUTOMATIC_KINDS)
      .nullable()
      .meta({
        description:
          'What kind of automatic message it is: `reply` (answers mail on its own), `generated`, `list`, `bulk`, `bounce`, `receipt` or `calendar` (answers an invitation); null if a person seems to have written it, and if the agent has sent it',
        examples: [null],
      }),
    authentication: z
      .object({ spf: Check, dkim: Check, dmarc: Check })
      .nullable()
      .meta({ description: 'Whether it comes from its sender; null unless it was received by SMTP', examples: [null] }),
    at: Timestamp.meta({ description: 'When it was received or sent' }),
  })
  .meta({ id: 'MailRead' });

type StoredRow = z.output<typeof AgentAttachmentRow>;
type Shown<Found extends Message> = Found & { readonly attachments: readonly StoredRow[] };

/** A sent message has the files of other messages that were sent with it, and those that were added to it later. */
const withAttachments = async <Found extends Message>(ctx: Ctx, found: readonly Found[]): Promise<Shown<Found>[]> => {
  const ids = found.map(({ id }) => id);
  const attachment_ids = found.flatMap((message) => message.attachment_ids);
  const rows = found.length === 0 ? [] : await attachmentsOfMessages(ctx.reads, { tenant_id: ctx.tenant, ids, attachment_ids });
  const isOf = (message: Message, { id, message_id }: StoredRow) => message_id === message.id || message.attachment_ids.includes(id);
  return found.map((message) => ({ ...message, attachments: rows.filter((row) => isOf(message, row)) }));
};

/** The message is recorded. So if the read models cannot be reached any more, the response has no files instead of failing. */
const withSentFiles = async <Sent extends Message>(ctx: Ctx, sent: Sent): Promise<Shown<Sent>> => {
  const shown = sent.attachment_ids.length === 0 ? undefined : await withAttachments(ctx, [sent]).catch(ignoreUnavailable);
  return shown?.[0] ?? { ...sent, attachments: [] };
};

/**
 * Returns the attachments that a message had at the log position of an as-of read: those with which it was received or
 * sent, and those that had been added by then.
 */
const attachedThen = async (ctx: Ctx, { at, attachments, attachment_ids }: Shown<Message>): Promise<readonly StoredRow[]> => {
  const added = await Promise.all(attachments.map(({ id }) => ctx.load(Attachment, id)));
  return attachments.filter(
    ({ id, created_at }, index) => created_at === at || attachment_ids.includes(id) || added[index]!.state.status === 'present',
  );
};

/**
 * Waits until the read model contains all attachments that were added before this request.
 * @throws Refusal not_caught_up
 */
const catchUp = async (ctx: Ctx): Promise<void> => {
  const end = await ctx.log.logEnd();
  if (end) await ctx.reads.passed(messages.name, end);
};

export const messageOperationsOf = (settings: MailSettings, readDelivery: ReadDelivery) => ({
  sendMail: operation({
    method: 'post',
    path: `${AGENT}/mail`,
    summary: 'Send mail as an agent',
    details:
      'Agents of the tenant get it without SMTP. Mail to any other address is refused with 403 unless the tenant and the agent have `external_mail_enabled`. It is tried again for about four hours.',
    permit: { all: ['agent:assign'], runner: true },
    body: MailSend,
    reply: MailRead,
    status: 202,
    run: async (ctx, input) => {
      const findAttachments = async (agent_id: string, ids: readonly string[]) => {
        await catchUp(ctx);
        return attachmentsWithIds(ctx.reads, { tenant_id: ctx.tenant, agent_id }, ids);
      };
      const loaded = await sendMail({ settings, readDelivery, findAttachments })(ctx, input);
      return { ...loaded, state: await withSentFiles(ctx, loaded.state) };
    },
  }),
  listMessages: operation({
    method: 'get',
    path: `${AGENT}/messages`,
    summary: 'List the mail of an agent',
    details: 'What the agent has sent and received, newest first.',
    permit: 'agent:chat:read',
    query: listQuery({
      direction: z.enum(DIRECTIONS).optional().meta({ description: 'Only received messages, or only sent ones' }),
      ...TimeRange,
    }),
    reply: z.array(MailRead),
    projection: messages.name,
    run: async (ctx, { tenant_id, agent_id, direction, from, to, ...window }) => {
      await loadAgent(ctx, agent_id);
      const page = await messagePage(ctx.reads, { tenant_id, agent_id }, { direction, from, to }, windowOf(window));
      const ids = (JSON.parse(page.body) as { id: string }[]).map(({ id }) => id);
      const found = await Promise.all(ids.map((id) => readMessage(ctx, agent_id, id, readDelivery)));
      return { ...page, body: JSON.stringify(z.array(MailRead).parse(await withAttachments(ctx, found))) };
    },
  }),
  getMessage: operation({
    method: 'get',
    path: `${AGENT}/messages/:message_id`,
    summary: 'Read a message of an agent',
    permit: 'agent:chat:read',
    query: asOfQuery,
    reply: MailRead,
    projection: messages.name,
    noConditionalGet: true,
    run: async (ctx, { agent_id, message_id }) => {
      const message = await readMessage(ctx, agent_id, message_id, readDelivery);
      const [shown] = await withAttachments(ctx, [message]);
      const attachments = ctx.asOf ? await attachedThen(ctx, shown!) : shown!.attachments;
      return { doc: JSON.stringify(MailRead.parse({ ...shown, attachments })), revision: message.revision };
    },
  }),
  listAgentAttachments: operation({
    method: 'get',
    path: `${AGENT}/attachments`,
    summary: 'List the mail attachments of an agent',
    permit: 'agent:read',
    query: listQuery(
      {
        message_id: Id25.optional().meta({ description: 'Only the files of this message' }),
        q: z.string().min(1).max(255).optional().meta({ description: 'Only files with this text in their name' }),
      },
      ATTACHMENT_SORTS,
    ),
    reply: z.array(AgentAttachmentRow),
    projection: messages.name,
    run: async (ctx, { tenant_id, agent_id, message_id, q, ...window }) => {
      await loadAgent(ctx, agent_id);
      return attachmentPage(ctx.reads, { tenant_id, agent_id }, { message_id, q }, windowOf(window, ATTACHMENT_SORTS));
    },
  }),
});
