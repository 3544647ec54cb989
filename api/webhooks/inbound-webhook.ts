import type { Context, Hono } from 'hono';
import { admitLarge, type BodyBuffer, type DeliveryOutcome, receive, type WebhookPorts } from '../../commands/webhooks/receive-delivery.ts';
import { CHUNK_BYTES, MAX_BODY_BYTES } from '../../domain/webhooks/delivery-body.ts';
import { rejectTruncated } from '../http/json-body.ts';
import { type Enter, largeBytesOf } from './large-body.ts';

export type HookHost = { readonly ports: WebhookPorts; readonly address: (c: Context) => string | null };

type Header = (name: string) => string | undefined;
type FromNode = { readonly incoming?: { readonly headers: Readonly<Record<string, string | string[] | undefined>> } };

/** The route on which providers deliver. It stands outside the table of operations: its body is bytes, and they are what is signed. */
export const mountHooks = (app: Hono, { ports, address }: HookHost): void => {
  app.post('/hooks/inbound/:integration_id', async (c) => {
    const header = headersOf(c);
    const post = { integration_id: c.req.param('integration_id'), header, ip: address(c) };
    const taken = (body: Uint8Array) => receive(ports, { ...post, body }, (told) => c.set('limits', told));
    const declared = Number(header('content-length') ?? Number.NaN);
    if (declared <= CHUNK_BYTES) return answer(await taken(new Uint8Array(await c.req.raw.arrayBuffer().catch(rejectTruncated))));
    return answer(
      await held(
        (size) => admitLarge(ports, post, size),
        async (enter) => taken(await largeBytesOf(c.req.raw, declared, enter)),
      ),
    );
  });
};

/** Works in memory that is given back at the end. */
const held = async <T>(admit: (size: number) => Promise<BodyBuffer>, work: (enter: Enter) => Promise<T>): Promise<T> => {
  const all: BodyBuffer[] = [];
  try {
    return await work(async (size) => {
      const room = await admit(size);
      all.push(room);
      return room.bytes;
    });
  } finally {
    for (const { leave } of all) leave();
  }
};

// Node has the headers in an object already; a Headers made of them costs more than the signature.
const headersOf = (c: Context): Header => {
  const headers = (c.env as FromNode | undefined)?.incoming?.headers;
  if (!headers) return (name) => c.req.header(name);
  return (name) => headers[name] as string | undefined;
};

const answer = ({ id, outcome, token }: DeliveryOutcome): Response =>
  new Response(`{"id":"${id}","outcome":"${outcome}"}`, {
    status: token === null ? 200 : 202,
    headers: { 'content-type': 'application/json', ...(token === null ? {} : { 'consistency-token': token }) },
  });

const header = (name: string, description: string, required = true) => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string' },
});
const outcome = (description: string, outcomes: readonly DeliveryOutcome['outcome'][]) => ({
  description,
  content: {
    'application/json': {
      schema: {
        type: 'object',
        required: ['id', 'outcome'],
        properties: { id: { type: 'string' }, outcome: { type: 'string', enum: outcomes } },
      },
    },
  },
});

/** How the route stands in the OpenAPI document. */
export const hookPaths = {
  '/hooks/inbound/{integration_id}': {
    post: {
      operationId: 'receiveWebhook',
      summary: "Take a provider's delivery",
      description: `Verified by the provider's signature over the bytes as they come, before anything else is read. At most ${MAX_BODY_BYTES} bytes: more are 413, and noted as rejected with the reason \`too_large\`. Of more than ${CHUNK_BYTES} bytes only so many are held at once: beyond that it is 503 with \`Retry-After\`. New deliveries beyond the plan's \`webhooks_per_minute\` are 429; what is sent again after that is taken.`,
      tags: ['Webhooks in'],
      security: [],
      parameters: [
        { name: 'integration_id', in: 'path', required: true, schema: { type: 'string' } },
        header('X-Hub-Signature-256', '`sha256=` and the hex HMAC-SHA-256 of the body'),
        header('X-GitHub-Delivery', 'The delivery id: a delivery is taken once, however often it comes'),
        header('X-GitHub-Event', 'The name of the event', false),
      ],
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: {} },
          'application/x-www-form-urlencoded': {
            schema: { type: 'object', required: ['payload'], properties: { payload: { type: 'string' } } },
          },
        },
      },
      responses: {
        202: outcome('Recorded; blocked ones go no further', ['accepted', 'blocked']),
        200: outcome('Seen before; not processed again', ['duplicate']),
        429: { $ref: '#/components/responses/RateLimited' },
        default: { $ref: '#/components/responses/Problem' },
      },
    },
  },
};
