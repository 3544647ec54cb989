import type { Msg } from 'nats';
import { z } from 'zod';
import { mediaOf } from '../../domain/bodies/body-inspection.ts';
import { SPEC_VERSION } from '../../domain/runners/cloud-event.ts';
import { jsonInBody } from '../../domain/runners/message-body.ts';

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
  /** The event that must be settled before this one. */
  previous: z.uuid().optional(),
  /** The provider's id, only in messages of earlier versions of Annals; later ones have `providerid`. */
  delivery_id: z.string().optional(),
  datacontenttype: z.string().optional(),
  dataref: z.string().optional(),
});
export type CloudEvent = z.output<typeof CloudEvent>;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Null if it is not a CloudEvent of a version that this runner supports. */
export const parseEvent = (message: Msg): CloudEvent | null => {
  try {
    return CloudEvent.safeParse(JSON.parse(decoder.decode(message.data))).data ?? null;
  } catch {
    return null;
  }
};

/** Returns what an event with a small body would be: the body replaces the reference or, for a form with JSON, this JSON does. */
export const withBody = ({ dataref: _, delivery_id, ...event }: CloudEvent, body: Uint8Array): Uint8Array => {
  const { datacontenttype = '', formfield, providerid = delivery_id, ...others } = event;
  const isForm = mediaOf(datacontenttype) === 'form';
  const json = isForm && formfield === undefined ? null : jsonInBody(datacontenttype, body);
  const type = isForm && json ? 'application/json' : datacontenttype;
  const named = { ...others, providerid, ...(type === '' ? {} : { datacontenttype: type }), formfield };
  const head = JSON.stringify(named).slice(0, -1);
  return Buffer.from(json ? `${head},"data":${decoder.decode(json)}}` : `${head},"data_base64":"${Buffer.from(body).toString('base64')}"}`);
};

/** `delivery_id`, of earlier versions of Annals, is not a valid name in CloudEvents: it gets the name of later messages. */
export const withValidNames = ({ delivery_id, providerid }: CloudEvent, message: Uint8Array): Uint8Array =>
  delivery_id === undefined || providerid !== undefined
    ? message
    : Buffer.from(decoder.decode(message).replace('"delivery_id":', '"providerid":'));

/**
 * Returns how often the message was delivered, including this time. The number is part of the reply subject
 * `$JS.ACK.<stream>.<consumer>.<count>.…`; newer servers insert domain and account.
 */
export const attemptsOf = ({ reply = '' }: Msg): number => {
  const tokens = reply.split('.');
  return Number(tokens[tokens.length > 10 ? 6 : 4]) || 1;
};
