import type { Msg } from 'nats';
import { z } from 'zod';
import { isJsonType, SPEC_VERSION } from '../../domain/runners/cloud-event.ts';

const CloudEvent = z.looseObject({
  specversion: z.literal(SPEC_VERSION),
  id: z.uuid(),
  subject: z.string(),
  tenant: z.string().optional(),
  agent: z.string().optional(),
  providerid: z.string().optional(),
  traceparent: z.string().optional(),
  /**
   * The provider's id of the delivery. Only messages of earlier versions of Annals contain it. Later messages have
   * `providerid` instead.
   */
  delivery_id: z.string().default(''),
  datacontenttype: z.string().default(''),
  dataref: z.string().optional(),
});
export type CloudEvent = z.output<typeof CloudEvent>;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Parses the CloudEvent in a message; null if it is not a CloudEvent of a version that this runner supports. */
export const parseEvent = (message: Msg): CloudEvent | null => {
  try {
    return CloudEvent.safeParse(JSON.parse(decoder.decode(message.data))).data ?? null;
  } catch {
    return null;
  }
};

/** Returns the event as JSON. Replaces the reference to the body by the body itself. */
export const withBody = ({ dataref: _, ...event }: CloudEvent, body: Uint8Array): Uint8Array => {
  const head = JSON.stringify(event).slice(0, -1);
  try {
    const text = decoder.decode(body);
    if (isJsonType(event.datacontenttype) && JSON.parse(text) !== undefined) return Buffer.from(`${head},"data":${text}}`);
  } catch {
    // The body is not valid JSON, even if its content type is JSON. So it is passed as base64.
  }
  return Buffer.from(`${head},"data_base64":"${body.toBase64()}"}`);
};

/**
 * Returns how often a message has been delivered, including this time. The number is part of the reply subject of the
 * message, `$JS.ACK.<stream>.<consumer>.<count>.…`. Newer servers insert the domain and the account before the stream.
 */
export const attemptsOf = ({ reply = '' }: Msg): number => {
  const tokens = reply.split('.');
  return Number(tokens[tokens.length > 10 ? 6 : 4]) || 1;
};
