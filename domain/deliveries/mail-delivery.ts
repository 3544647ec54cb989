import { hash } from 'node:crypto';
import type { MailContent } from '../mail/content.ts';
import type { DeliveryFacts } from './delivery.ts';
import type { MailOrigin } from './mail-origin.ts';

export const MAIL_PROVIDER = 'mail';

/** The delivery has the id of the mail message; `integration_id` is the id of the mailbox. */
export type MailFacts = DeliveryFacts & { provider: typeof MAIL_PROVIDER; mail: MailOrigin };

export type NewMail = {
  readonly message_id: string;
  readonly agent_id: string;
  readonly origin: MailOrigin;
  readonly content: MailContent;
  /** When the message was received, as RFC 3339 UTC. */
  readonly at: string;
};

/** The body is JSON. */
export const mailDelivery = ({ message_id, agent_id, origin, content, at }: NewMail): { facts: MailFacts; body: Uint8Array } => {
  const { attachments, authentication } = origin;
  const files = attachments.map(({ attachment_id: id, filename, content_type, size_bytes, sha256 }) => ({
    ...{ id, filename, content_type, size_bytes, sha256 },
  }));
  const body = new TextEncoder().encode(JSON.stringify({ message_id, ...content, attachments: files, authentication, received_at: at }));
  const facts: MailFacts = {
    integration_id: origin.mailbox_id ?? agent_id,
    agent_id,
    provider: MAIL_PROVIDER,
    provider_delivery_id: message_id,
    event: null,
    content_type: 'application/json',
    sha256: hash('sha256', body, 'hex'),
    size_bytes: body.length,
    matched_secret: null,
    received_at: at,
    reason: null,
    guardrails: [],
    mail: origin,
  };
  return { facts, body };
};

/** @throws SyntaxError if the body is not JSON */
export const contentIn = (body: Uint8Array): MailContent => JSON.parse(new TextDecoder().decode(body)) as MailContent;
