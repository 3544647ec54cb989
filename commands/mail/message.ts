import * as Delivery from '../../domain/deliveries/delivery.ts';
import { contentIn, MAIL_PROVIDER, type MailFacts } from '../../domain/deliveries/mail-delivery.ts';
import type { Authentication } from '../../domain/deliveries/mail-origin.ts';
import { type MailContent, sentIdIn } from '../../domain/mail/content.ts';
import * as Mail from '../../domain/mail/mail.ts';
import { notFound } from '../../domain/refusal.ts';
import { secret } from '../../domain/secret.ts';
import type { Ctx, Secrets } from '../context.ts';
import type { ReadDelivery } from '../deliveries/delivery.ts';
import { unreadableBody } from '../deliveries/delivery.ts';

export const DIRECTIONS = ['inbound', 'outbound'] as const;

/**
 * `attachment_ids`: the files that a sent message has from other messages of the agent. `authentication` is null if the message was not
 * received by SMTP.
 */
export type Message = Required<MailContent> & {
  readonly id: string;
  readonly direction: (typeof DIRECTIONS)[number];
  readonly status: Mail.MailStatus | 'received';
  readonly bounced: readonly string[];
  readonly in_reply_to: string | null;
  readonly attachment_ids: readonly string[];
  readonly authentication: Authentication | null;
  readonly at: string;
  readonly revision: number;
};

type SealPlace = { readonly tenant: string; readonly id: string };

const contentLocation = ({ tenant, id }: SealPlace) => ({ tenant, category: Mail.category, id, field: 'content' });

export const sealContent = (seal: Secrets['seal'], place: SealPlace, content: MailContent): Promise<string> =>
  seal(contentLocation(place), secret(JSON.stringify(content)));

export const openContent = async (open: Secrets['open'], place: SealPlace, sealed: string): Promise<MailContent> =>
  JSON.parse((await open(contentLocation(place), sealed)).reveal()) as MailContent;

/** In the order of their indices. */
export const recipientsOf = ({ to, cc }: Pick<MailContent, 'to' | 'cc'>): readonly string[] => [...to, ...cc];

const sentMessage = async (ctx: Ctx, id: string, mail: Mail.Mail, revision: number): Promise<Message> => {
  const content = await openContent(ctx.secrets.open, { tenant: ctx.tenant, id }, mail.sealed_content);
  const addresses = recipientsOf(content);
  const bounced = mail.bounces.map(({ recipient }) => addresses[recipient]!);
  const { status, in_reply_to, attachment_ids, created_at: at } = mail;
  if (status === 'absent') throw notFound();
  return {
    from_name: null,
    automatic: null,
    ...content,
    id,
    direction: 'outbound',
    status,
    bounced,
    in_reply_to,
    attachment_ids,
    authentication: null,
    at,
    revision,
  };
};

/** The agent's message to which a received one replies. */
const answeredBy = async (ctx: Ctx, agent_id: string, { references }: Pick<MailContent, 'references'>): Promise<string | null> => {
  const id = sentIdIn(references.at(-1) ?? '');
  if (id === null) return null;
  return (await ctx.load(Mail, id)).state.agent_id === agent_id ? id : null;
};

const receivedMessage = async (ctx: Ctx, id: string, facts: MailFacts, readDelivery: ReadDelivery): Promise<Message> => {
  const stored = await readDelivery(ctx.tenant, id);
  if (!stored) throw notFound();
  if (!(stored.body instanceof Uint8Array)) throw unreadableBody('unreadable' in stored.body ? stored.body.unreadable : 'damaged');
  const { from, from_name = null, to, cc, subject, text, html, automatic = null, header_id, references } = contentIn(stored.body);
  const content = { from, from_name, to, cc, subject, text, html, automatic, header_id, references };
  const { authentication } = facts.mail;
  const in_reply_to = await answeredBy(ctx, facts.agent_id, content);
  const fixed = { direction: 'inbound', status: 'received', bounced: [], in_reply_to, attachment_ids: [] } as const;
  return { ...content, ...fixed, id, authentication, at: facts.received_at, revision: 0 };
};

const isMailOf = ({ status, facts }: Delivery.Delivery, agent_id: string): boolean =>
  status === 'accepted' && facts?.provider === MAIL_PROVIDER && facts.agent_id === agent_id;

/** @throws Refusal not_found if the agent has neither sent nor received it */
export const assertMessage = async (ctx: Ctx, agent_id: string, id: string): Promise<void> => {
  const { state } = await ctx.load(Mail, id);
  if (state.status !== 'absent') return Mail.assertExists(state, agent_id);
  if (!isMailOf((await ctx.load(Delivery, id)).state, agent_id)) throw notFound();
};

/** Reads a message that the agent has sent or received. @throws Refusal not_found, unavailable */
export const readMessage = async (ctx: Ctx, agent_id: string, id: string, readDelivery: ReadDelivery): Promise<Message> => {
  const sent = await ctx.load(Mail, id);
  if (sent.state.status !== 'absent') {
    Mail.assertExists(sent.state, agent_id);
    return sentMessage(ctx, id, sent.state, sent.revision);
  }
  const { state } = await ctx.load(Delivery, id);
  if (!isMailOf(state, agent_id)) throw notFound();
  return receivedMessage(ctx, id, state.facts as MailFacts, readDelivery);
};
