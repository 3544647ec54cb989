import { type DeliveryFacts, factsOf } from './delivery.ts';
import type { Recorded } from './event.ts';

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
  /** Where the body is read when it is too large for a message. */
  readonly reference: string;
};

/** How an event becomes a message. `type` is the CloudEvents type, `summary` what the interface's description says of it. */
export type Delivering = {
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

const webhook = (event: Recorded, publicUrl: string): Message => {
  const facts = factsOf(event);
  return {
    agent: facts.agent_id,
    delivery: event.id,
    attributes: webhookAttributes(event, facts, publicUrl),
    contentType: facts.content_type,
    body: event.data as Uint8Array,
    reference: `${publicUrl}/tenant/${event.tenant}/deliveries/${event.id}/body`,
  };
};

/** The events that travel to runners, by their stored type. */
export const delivering: Readonly<Record<string, Delivering>> = {
  WebhookAccepted: { type: 'annals.webhook.accepted', summary: 'A provider delivered an event that the agent is to see', message: webhook },
};

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const isJsonType = (contentType: string): boolean => /^application\/(?:[^;]+\+)?json\s*(?:;|$)/i.test(contentType.trim());

const isJson = (bytes: Uint8Array): boolean => {
  try {
    JSON.parse(decoder.decode(bytes));
    return true;
  } catch {
    return false;
  }
};

const joined = (parts: readonly Uint8Array[]): Uint8Array => {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
};

const body = ({ contentType, body: bytes, reference }: Message, inlineLimit: number): Uint8Array[] => {
  if (bytes.length > inlineLimit) return [encoder.encode(`,"dataref":${JSON.stringify(reference)}}`)];
  if (isJsonType(contentType) && isJson(bytes)) return [encoder.encode(',"data":'), bytes, encoder.encode('}')];
  return [encoder.encode(`,"data_base64":"${bytes.toBase64()}"}`)];
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
  return joined([encoder.encode(head.slice(0, -1)), ...body(message, inlineLimit)]);
};
