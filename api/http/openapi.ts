import { z } from 'zod';
import type { Permit } from '../../domain/access/permission.ts';
import { parametersOf, type Schemas, schemaOf, templateOf } from './json-schema.ts';
import { isRead, needsBody, type Operation, type Operations } from './operation.ts';
import type { PlainPaths } from './plain-route.ts';
import { problems } from './problem.ts';

type Json = Record<string, unknown>;

const headersOf = (row: Operation): unknown[] =>
  (isRead(row) ? ['ConsistencyToken'] : [...(row.noETag ? [] : ['IfMatch']), 'IdempotencyKey']).map((name) => ({
    $ref: `#/components/parameters/${name}`,
  }));

const permissionText = (permit: Permit): string => {
  if (permit === 'none') return 'Open to everybody.';
  if (permit === 'any') return 'Any valid credential.';
  if (typeof permit === 'string') return `Needs \`${permit}\`.`;
  return `Needs ${permit.all.map((one) => `\`${one}\``).join(' and ')}${permit.runner ? ", or the agent's runner key" : ''}.`;
};

/** Whether it answers page by page. */
const isList = ({ query }: Operation): boolean => query instanceof z.ZodObject && 'limit' in query.shape;

/** What an answer's header says of it. */
const answerHeadersOf = (row: Operation): (keyof typeof answerHeaders)[] => {
  const etag = row.noETag ? [] : (['ETag'] as const);
  if (!isRead(row)) return [...etag, 'Consistency-Token', ...(row.location ? (['Location'] as const) : [])];
  return isList(row) ? ['Projection-Position', 'Link', 'Total-Count'] : ['Projection-Position', ...etag];
};

const documented = (name: string, row: Operation, schemas: Schemas) => {
  const status = row.status ?? (row.reply ? 200 : 204);
  const headers = Object.fromEntries(answerHeadersOf(row).map((one) => [one, { $ref: `#/components/headers/${one}` }]));
  const content = {
    headers,
    ...(row.reply ? { content: { 'application/json': { schema: schemaOf(row.reply, 'output', schemas) } } } : {}),
  };
  return {
    operationId: name,
    summary: row.summary,
    description: row.permissionNote ?? permissionText(row.permit),
    tags: [row.area ?? 'Others'],
    ...(row.permit === 'none' ? { security: [] } : {}),
    parameters: [...parametersOf(row.path, row.query, schemas), ...headersOf(row)],
    ...(row.body
      ? { requestBody: { required: needsBody(row), content: { 'application/json': { schema: schemaOf(row.body, 'input', schemas) } } } }
      : {}),
    responses: {
      [status]: { description: row.summary, ...content },
      ...(row.alternateStatus === 200 ? { 200: { description: 'It was there already, and now is as asked', ...content } } : {}),
      ...(row.alternateStatus === 204 ? { 204: { description: 'It is there no more', headers } } : {}),
      ...(isRead(row) && !isList(row) && !row.noConditionalGet && !row.noETag
        ? { 304: { description: 'It is as the ETag in If-None-Match says' } }
        : {}),
      ...(row.permit === 'none' ? {} : { 429: { $ref: '#/components/responses/RateLimited' } }),
      default: { $ref: '#/components/responses/Problem' },
    },
  };
};

const header = (name: string, description: string) => ({ name, in: 'header', required: false, description, schema: { type: 'string' } });

const problemBody = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
const answerHeader = (description: string) => ({ description, schema: { type: 'string' } });

const answerHeaders = {
  ETag: answerHeader("The revision of the resource's stream, for If-Match and If-None-Match"),
  'Consistency-Token': answerHeader('The place in the log of what was done: sent with a read, it is waited for'),
  'Projection-Position': answerHeader('The place in the log up to which the answer holds what happened'),
  Location: answerHeader('Where the resource is'),
  Link: answerHeader('RFC 8288: the next page as `rel="next"`; absent on the last'),
  'Total-Count': answerHeader('How many there are in all, on lists that keep count, for who may see them all'),
};

/** What every operation shares. */
const shared = {
  headers: answerHeaders,
  parameters: {
    ConsistencyToken: header(
      'Consistency-Token',
      'Waits up to 2 s until the answer holds what the mutation with this token did. Without it, up to 250 ms for what the caller did last through the same process',
    ),
    IfMatch: header('If-Match', 'The ETag of an earlier answer: 412 where the resource has changed since'),
    IdempotencyKey: header('Idempotency-Key', '1 to 255 printable characters: the same request under the same key happens once'),
  },
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: 'An API key, or a token of the configured OIDC issuer' },
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: 'annals_session',
      description: 'A browser that signed in; `__Host-` before it over TLS',
    },
  },
  responses: {
    Problem: { description: 'RFC 9457 problem', content: problemBody },
    RateLimited: {
      description: 'Too many requests: nothing happened',
      headers: {
        'Retry-After': answerHeader('In so many seconds one more is let through'),
        'RateLimit-Policy': answerHeader('How many requests there may be in how many seconds'),
        RateLimit: answerHeader('How many are left, and in how many seconds all are there again'),
      },
      content: problemBody,
    },
  },
};

const Problem = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'request_id'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string' },
    code: { type: 'string', enum: Object.keys(problems) },
    errors: {
      type: 'array',
      items: { type: 'object', properties: { pointer: { type: 'string' }, code: { type: 'string' }, message: { type: 'string' } } },
    },
    request_id: { type: 'string' },
  },
};

/** The OpenAPI 3.1 document of the operations, made from the same tables that are mounted. */
export const openapi = (operations: Operations, plain: PlainPaths, url: string): Json => {
  const schemas: Schemas = { Problem };
  const paths: Record<string, Json> = {};
  for (const [name, row] of Object.entries(operations)) {
    const path = templateOf(row.path);
    paths[path] = { ...paths[path], [row.method]: documented(name, row, schemas) };
  }
  for (const [path, methods] of Object.entries(plain)) paths[path] = { ...paths[path], ...methods };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Annals',
      version: '0.1.0',
      description: 'A platform for running and administering software agents, in which the log is the truth.',
    },
    servers: [{ url }],
    security: [{ bearer: [] }, { session: [] }],
    paths,
    components: { ...shared, schemas },
  };
};
