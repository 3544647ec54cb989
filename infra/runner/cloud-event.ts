import type { Msg } from 'nats';
import { z } from 'zod';
import { SPEC_VERSION } from '../../domain/runners/cloud-event.ts';
import { jsonInBody } from '../../domain/runners/message-body.ts';
import { mediaOf } from '../../domain/webhooks/body-inspection.ts';

const CloudEvent = z.looseObject({
  specversion: z.literal(SPEC_VERSION),
  id: z.uuid(),
  subject: z.string(),
  tenant: z.string().optional(),
  agent: z.string().optional(),
  deliveryid: z.string().optional(),
  providerid: z.string().optional(),
  traceparent: z.string().optional(),
  session: z.string().optional(),
  /** The id of the event that must be settled before this one. */
  previous: z.uuid().optional(),
  /**
   * The provider's id of the delivery. Only messages of earlier versions of Annals contain it. Later messages have
   * `providerid` instead.
   */
  delivery_id: z.string().optional(),
  datacontenttype: z.string().optional(),
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

/**
 * Returns the event as JSON, with the same attributes as the event of a small body: the reference is replaced by the
 * body itself or, if it is a form with JSON, by this JSON.
 */
export const withBody = ({ dataref: _, delivery_id, ...event }: CloudEvent, body: Uint8Array): Uint8Array => {
  const { datacontenttype = '', formfield, providerid = delivery_id, ...others } = event;
  const isForm = mediaOf(datacontenttype) === 'form';
  const json = isForm && formfield === undefined ? null : jsonInBody(datacontenttype, body);
  const type = isForm && json ? 'application/json' : datacontenttype;
  const named = { ...others, providerid, ...(type === '' ? {} : { datacontenttype: type }), formfield };
  const head = JSON.stringify(named).slice(0, -1);
  return Buffer.from(json ? `${head},"data":${decoder.decode(json)}}` : `${head},"data_base64":"${Buffer.from(body).toString('base64')}"}`);
};

/**
 * Returns the bytes of an event whose body is in its message. Only messages of earlier versions of Annals have the
 * attribute `delivery_id`, which is no valid name in CloudEvents: it gets the name that later messages have.
 */
export const withValidNames = ({ delivery_id, providerid }: CloudEvent, message: Uint8Array): Uint8Array =>
  delivery_id === undefined || providerid !== undefined
    ? message
    : Buffer.from(decoder.decode(message).replace('"delivery_id":', '"providerid":'));

/**
 * Returns how often a message has been delivered, including this time. The number is part of the reply subject of the
 * message, `$JS.ACK.<stream>.<consumer>.<count>.…`. Newer servers insert the domain and the account before the stream.
 */
export const attemptsOf = ({ reply = '' }: Msg): number => {
  const tokens = reply.split('.');
  return Number(tokens[tokens.length > 10 ? 6 : 4]) || 1;
};
