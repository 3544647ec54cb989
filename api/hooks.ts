import type { Context, Hono } from 'hono';
import { type HookOutcome, type HookPorts, receive } from '../commands/webhook.ts';
import { bytesOf, cutOff } from './body.ts';

export type HookHost = { readonly ports: HookPorts; readonly address: (c: Context) => string | null };

type Header = (name: string) => string | undefined;
type FromNode = { readonly incoming?: { readonly headers: Readonly<Record<string, string | string[] | undefined>> } };

/** Larger ones wait for a store of their own: an append of the log holds a megabyte. */
const BODY_LIMIT = 512 * 1024;

/** The route on which providers deliver. It stands outside the table of operations: its body is bytes, and they are what is signed. */
export const mountHooks = (app: Hono, { ports, address }: HookHost): void => {
  app.post('/hooks/inbound/:integration_id', async (c) => {
    const header = headersOf(c);
    const body = await bodyOf(c, header);
    const request = { integration_id: c.req.param('integration_id'), header, body, ip: address(c) };
    return answer(await receive(ports, request, (told) => c.set('limits', told)));
  });
};

// Node has the headers in an object already; a Headers made of them costs more than the signature.
const headersOf = (c: Context): Header => {
  const headers = (c.env as FromNode | undefined)?.incoming?.headers;
  if (!headers) return (name) => c.req.header(name);
  return (name) => headers[name] as string | undefined;
};

const bodyOf = async (c: Context, header: Header): Promise<Uint8Array> => {
  const short = Number(header('content-length') ?? Number.NaN) <= BODY_LIMIT;
  return short ? new Uint8Array(await c.req.raw.arrayBuffer().catch(cutOff)) : bytesOf(c.req.raw, BODY_LIMIT);
};

const answer = ({ id, outcome, token }: HookOutcome): Response =>
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
const outcome = (description: string, outcomes: readonly HookOutcome['outcome'][]) => ({
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
      description: `Verified by the provider's signature over the bytes as they come, before anything else is read. At most ${BODY_LIMIT} bytes. New deliveries beyond the plan's \`webhooks_per_minute\` are 429; what is sent again after that is taken.`,
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
