import type { Context } from 'hono';
import { z } from 'zod';
import { admitLarge, checkAddress, type DeliveryOutcome, receive } from '../../commands/deliveries/receive-delivery.ts';
import type { BodyMemory, WebhookPorts } from '../../commands/deliveries/webhook-ports.ts';
import type { WebhookRequest } from '../../commands/deliveries/webhook-request.ts';
import { CHUNK_BYTES, MAX_BODY_BYTES } from '../../domain/bodies/delivery-body.ts';
import type { ReceivedBody } from '../../domain/bodies/received-body.ts';
import type { HandshakeReply } from '../../domain/integrations/conventions/provider-definition.ts';
import { Refusal } from '../../domain/refusal.ts';
import { rejectTruncated } from '../http/json-body.ts';
import { schemaOf } from '../http/json-schema.ts';
import { headerParameter, plainRoute, plainRoutes } from '../http/plain-route.ts';
import { type AdmitBody, readLargeBody } from './large-body.ts';

/**
 * What the route needs from infra/. `address` returns the client's IP address, and `publicUrl` is the start of all
 * webhook URLs.
 */
export type InboundWebhookDeps = {
  readonly deliveries: WebhookPorts;
  readonly address: (c: Context) => string | null;
  readonly publicUrl: string;
};

type Header = (name: string) => string | undefined;
/** The environment that the Node server sets. Tests that call the application directly do not set it. */
type NodeEnv = {
  readonly incoming?: { readonly url: string; readonly headers: Readonly<Record<string, string | string[] | undefined>> };
};

/** Matches the scheme and the host of a URL. */
const ORIGIN = /^[a-z]+:\/\/[^/]*/;

const receiveWebhook =
  ({ deliveries, address, publicUrl }: InboundWebhookDeps) =>
  async (c: Context): Promise<Response> => {
    const header = headersOf(c);
    const url = (): string => publicUrl + rawUrlOf(c).replace(ORIGIN, '');
    const head = { integration_id: c.req.param('integration_id')!, header, url, ip: address(c) };
    const receiveBody = (body: ReceivedBody, unpack: Unpack = {}) =>
      receive(deliveries, { ...head, body, ...unpack }, (headers) => c.set('limits', headers));
    const readSmall = async () => new Uint8Array(await c.req.raw.arrayBuffer().catch(rejectTruncated));
    const declared = Number(header('content-length') ?? Number.NaN);
    const isSmall = declared <= CHUNK_BYTES;
    if (isSmall && header('content-encoding') === undefined) return respond(await receiveBody(await readSmall()));
    return respond(
      await withMemory(
        (size) => admitLarge(deliveries, head, size),
        async (admit) => {
          const body = isSmall ? await readSmall() : await readLargeBody(c.req.raw, declared, admit);
          return receiveBody(body, header('content-encoding') === undefined ? {} : unpackWith(deliveries, body, admit));
        },
      ),
    );
  };

type Unpack = Pick<WebhookRequest, 'unpack'>;

const UNVERIFIED_TOO_LARGE = `The signature does not match the bytes as they came, and with more than ${CHUNK_BYTES} bytes it is not decompressed to verify its content: sign the compressed bytes, or send the body uncompressed`;

const refuseUnverified: AdmitBody = () => {
  throw new Refusal('malformed', UNVERIFIED_TOO_LARGE);
};

/**
 * Returns the function that decompresses a body. A body whose signature is not verified must fit into one chunk, compressed,
 * decompressed and after each coding. So strangers, who do not have the secret, cannot make the service decompress large bodies.
 */
const unpackWith = ({ verification }: WebhookPorts, body: ReceivedBody, admit: AdmitBody): Unpack => ({
  unpack: (codings, isVerified) => {
    const refuse = isVerified ? admit : refuseUnverified;
    const limit = { maxBytes: isVerified ? MAX_BODY_BYTES : CHUNK_BYTES, refuse };
    return readLargeBody({ body: verification.unpackedBody(codings, body, limit) }, Number.NaN, refuse);
  },
});

/** Calls `work` with a function that provides memory. Releases the memory when `work` ends. */
const withMemory = async <T>(provide: (size: number) => Promise<BodyMemory>, work: (admit: AdmitBody) => Promise<T>): Promise<T> => {
  const provided: BodyMemory[] = [];
  try {
    return await work(async (size) => {
      const memory = await provide(size);
      provided.push(memory);
      return memory;
    });
  } finally {
    for (const { release } of provided) release();
  }
};

/**
 * Returns the function that reads the request's headers. It reads them from Node's request object if there is one,
 * because creating a Headers object would take longer than verifying a webhook signature.
 */
export const headersOf = (c: Context): Header => {
  const headers = (c.env as NodeEnv | undefined)?.incoming?.headers;
  if (!headers) return (name) => c.req.header(name);
  return (name) => headers[name] as string | undefined;
};

/** Returns the URL exactly as the client sent it. Node does not normalize it. */
const rawUrlOf = (c: Context): string => (c.env as NodeEnv | undefined)?.incoming?.url ?? c.req.url;

const respond = (result: DeliveryOutcome | HandshakeReply): Response =>
  'status' in result ? respondToHandshake(result) : respondToDelivery(result);

const respondToHandshake = ({ status, body }: HandshakeReply): Response =>
  body ? Response.json(body, { status }) : new Response(null, { status });

const EMPTY_TWIML = '<?xml version="1.0" encoding="UTF-8"?><Response/>';

const contentOf = ({ id, outcome, answer }: DeliveryOutcome): readonly [body: string | null, type: string | null] => {
  if (answer?.body === 'empty') return [null, null];
  if (answer?.body === 'twiml') return [EMPTY_TWIML, 'text/xml'];
  return [`{"id":"${id}","outcome":"${outcome}"}`, 'application/json'];
};

const respondToDelivery = (result: DeliveryOutcome): Response => {
  const { outcome, token, answer } = result;
  const [body, type] = contentOf(result);
  return new Response(body, {
    status: answer?.status ?? (outcome === 'duplicate' ? 200 : 202),
    headers: { ...(type === null ? {} : { 'content-type': type }), ...(token === null ? {} : { 'consistency-token': token }) },
  });
};

const checkWebhook =
  ({ deliveries }: InboundWebhookDeps) =>
  async (c: Context): Promise<Response> => {
    const method = c.req.method === 'HEAD' ? 'HEAD' : 'GET';
    return respondToHandshake(await checkAddress(deliveries, c.req.param('integration_id')!, method, new URL(c.req.url).search.slice(1)));
  };

const outcomeRead = (outcomes: readonly DeliveryOutcome['outcome'][]) =>
  z.object({
    id: z.string().meta({ description: 'The id of the delivery' }),
    outcome: z.enum(outcomes).meta({ description: 'What happened to the delivery' }),
  });

const textOf = (description: string) => z.string().meta({ description });

/** The responses with a body that providers expect when they check the URL of a webhook. */
const HANDSHAKE_READS = [
  z.object({ challenge: textOf('Slack: the challenge of the request') }),
  z.object({ plainToken: textOf('Zoom: the token of the request'), encryptedToken: textOf('Zoom: the HMAC-SHA-256 of the token, in hex') }),
  z.object({ type: z.literal(1).meta({ description: 'Discord: the answer to a ping' }) }),
] as const;

const jsonResponse = (description: string, reply: z.ZodType, outcome: DeliveryOutcome['outcome']) => ({
  description,
  content: {
    'application/json': { schema: schemaOf(reply, 'output', {}), example: { id: 'cwbbr4qmw2wxfogo4mvn4a4wf', outcome } },
  },
});

/** Adds the answer that Twilio reads as instructions. */
const withTwiml = <Documented extends { readonly content: object }>({ content, ...rest }: Documented) => ({
  ...rest,
  content: {
    ...content,
    'text/xml': { schema: { type: 'string', description: 'Twilio: TwiML without instructions' }, example: EMPTY_TWIML },
  },
});

/**
 * The route to which providers send webhooks. It is a plain route, because it needs the raw bytes of the body, which
 * the provider has signed.
 */
export const inboundWebhook = plainRoutes([
  plainRoute({
    method: 'post',
    path: '/hooks/inbound/:integration_id',
    operationId: 'receiveWebhook',
    body: z.looseObject({}),
    reply: outcomeRead(['accepted', 'blocked', 'duplicate']),
    summary: "Receive a provider's delivery",
    description: `Verifies the provider's signature over the received bytes before it reads anything else. Which headers contain the signature, the delivery id and the event depends on the provider; those of GitHub are listed. The check of a new URL by Slack, Zoom or Discord is answered as they document it. A body has at most ${MAX_BODY_BYTES} bytes; a larger one is refused with 413 and recorded as rejected with the reason \`too_large\`. Bodies of more than ${CHUNK_BYTES} bytes share limited memory; if none is free for several seconds, or too many other bodies wait for it, the response is 503 with \`Retry-After\`. Such a body must arrive with at least 64 KiB per second, otherwise the response is 408. New deliveries beyond the plan's \`webhooks_per_minute\` are refused with 429; the provider can send them again later.`,
    tag: 'Webhooks in',
    security: [],
    parameters: [
      headerParameter('X-Hub-Signature-256', '`sha256=` and the hex HMAC-SHA-256 of the body', false),
      headerParameter('X-GitHub-Delivery', 'The delivery id; a delivery that is sent again is processed only once', false),
      headerParameter('X-GitHub-Event', 'The name of the event', false),
      headerParameter('traceparent', 'A trace context (W3C); the runner gets it with the delivery. An invalid one is ignored', false),
    ],
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: {}, example: { zen: 'Keep it logically awesome.' } },
        'application/x-www-form-urlencoded': {
          schema: {
            type: 'object',
            required: ['payload'],
            properties: { payload: { type: 'string', description: 'The payload as JSON' } },
          },
          example: { payload: '{"zen":"Keep it logically awesome."}' },
        },
      },
    },
    responses: {
      202: jsonResponse('Recorded; a blocked delivery is not forwarded to the agent', outcomeRead(['accepted', 'blocked']), 'accepted'),
      200: withTwiml(
        jsonResponse(
          "Recorded before, and not processed again. Linear, Zoom, Slack's commands and Twilio always get this status. A provider's check of the URL gets the answer that the provider documents",
          z.union([outcomeRead(['accepted', 'blocked', 'duplicate']), ...HANDSHAKE_READS]),
          'duplicate',
        ),
      ),
      204: { description: "Discord's events and Twilio's requests in JSON, however they were recorded, and Discord's check of the URL" },
    },
    problems: [400, 401, 404, 408, 413, 415, 429, 503],
    handler: receiveWebhook,
  }),
  plainRoute({
    method: 'get',
    path: '/hooks/inbound/:integration_id',
    operationId: 'checkWebhookAddress',
    reply: z.null(),
    summary: "Answer a provider's check of the URL",
    description:
      "A HEAD request is answered if the integration exists, as Intercom needs it, and so is Slack's check of the certificate (`?ssl_check=1&token=…`). Any other GET is refused with 405, because deliveries are sent with POST.",
    tag: 'Webhooks in',
    security: [],
    responses: { 200: { description: 'The integration exists' } },
    problems: [404, 429, 503],
    handler: checkWebhook,
  }),
]);
