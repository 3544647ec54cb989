import type { Recorded } from '../event.ts';
import { scanJson } from '../json-scanner.ts';
import { type DeliveryFacts, factsOf } from '../webhooks/delivery.ts';

/** A body up to this many bytes travels in its message; a larger one is fetched from its address. */
export const INLINE_LIMIT = 65_536;

export const CONTENT_TYPE = 'application/cloudevents+json';
export const SPEC_VERSION = '1.0';

/** Where an agent's messages go. */
export const inboundSubject = (tenant: string, agent: string): string => `agents.${tenant}.${agent}.inbound`;

/** What a message is made of: CloudEvents attributes (names of lower-case letters and digits) and the bytes they describe. */
export type Message = {
  readonly agent: string;
  readonly delivery: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Of the whole body, which is not in `body` where it is kept in parts. */
  readonly size: number;
  /** The body was found to be JSON when it came, and is as it came. */
  readonly isJson: boolean;
  /** Where the body is read when it is too large for a message. */
  readonly reference: string;
};

/** How an event becomes a message. `type` is the CloudEvents type, `summary` what the interface's description says of it. */
export type RunnerMessageType = {
  readonly type: string;
  readonly summary: string;
  readonly message: (event: Recorded, publicUrl: string) => Message;
};

const webhookAttributes = (event: Recorded, facts: DeliveryFacts, publicUrl: string): Record<string, string> => ({
  source: `${publicUrl}/tenant/${event.tenant}/webhook-integrations/${facts.integration_id}`,
  subject: event.id,
  tenant: event.tenant,
  agent: facts.agent_id,
  integration: facts.integration_id,
  provider: facts.provider,
  ...(facts.event === null ? {} : { providerevent: facts.event }),
  deliveryid: facts.provider_delivery_id,
  // Not a name that CloudEvents gives to attributes, but the field's name everywhere else in the interface.
  delivery_id: facts.provider_delivery_id,
});

/** What acceptance has read need not be read again; a redacted body is another one. */
const foundJson = ({ guardrails = [] }: Partial<DeliveryFacts>): boolean =>
  guardrails.some(({ rule, verdict }) => rule === 'json' && verdict === 'pass') && !guardrails.some(({ verdict }) => verdict === 'redact');

const webhook = (event: Recorded, publicUrl: string): Message => {
  const facts = factsOf(event);
  const body = event.data as Uint8Array;
  return {
    agent: facts.agent_id,
    delivery: event.id,
    attributes: webhookAttributes(event, facts, publicUrl),
    contentType: facts.content_type,
    body,
    size: facts.parts === undefined ? body.length : facts.size_bytes,
    isJson: foundJson(facts),
    reference: `${publicUrl}/tenant/${event.tenant}/deliveries/${event.id}/body`,
  };
};

/** The events that travel to runners, by their stored type. */
export const runnerMessages: Readonly<Record<string, RunnerMessageType>> = {
  WebhookAccepted: { type: 'annals.webhook.accepted', summary: 'A provider delivered an event that the agent is to see', message: webhook },
};

const encoder = new TextEncoder();

export const isJsonType = (contentType: string): boolean => /^application\/(?:[^;]+\+)?json\s*(?:;|$)/i.test(contentType.trim());

/** What stands behind the attributes: text, and the body where it goes as it is. */
const parts = (message: Message, inlineLimit: number): readonly [string, Uint8Array | null] => {
  const { contentType, body, size, isJson, reference } = message;
  if (size > inlineLimit) return [`,"dataref":${JSON.stringify(reference)}`, null];
  if (isJsonType(contentType) && (isJson || scanJson(body) === 'json')) return [',"data":', body];
  return [`,"data_base64":"${body.toBase64()}"`, null];
};

const CLOSE = 0x7d;
/** UTF-8 needs three bytes at most for what UTF-16 says in one unit. */
const WIDEST = 3;

/** Head, body and closing brace in one piece of memory. */
const joined = (head: string, body: Uint8Array | null): Uint8Array => {
  const whole = new Uint8Array(head.length * WIDEST + (body?.length ?? 0) + 1);
  let at = encoder.encodeInto(head, whole).written;
  if (body) {
    whole.set(body, at);
    at += body.length;
  }
  whole[at++] = CLOSE;
  return whole.subarray(0, at);
};

/** The message of an event as a CloudEvent in its JSON form; a JSON body stands in it byte by byte as it came. */
export const encode = (event: Recorded, type: string, message: Message, inlineLimit = INLINE_LIMIT): Uint8Array => {
  const { source, subject, ...extensions } = message.attributes;
  const head = JSON.stringify({
    specversion: SPEC_VERSION,
    id: event.event_id,
    source,
    type,
    subject,
    time: event.at,
    ...(message.contentType === '' ? {} : { datacontenttype: message.contentType }),
    ...extensions,
  });
  const [text, body] = parts(message, inlineLimit);
  return joined(head.slice(0, -1) + text, body);
};
