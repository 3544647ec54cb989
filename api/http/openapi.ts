import { z } from 'zod';
import type { Permit } from '../../domain/access/permission.ts';
import { parametersOf, type Schemas, schemaOf, templateOf } from './json-schema.ts';
import { isRead, needsBody, type Operation, type Operations } from './operation.ts';
import type { PlainPaths } from './plain-route.ts';
import { PROBLEMS } from './problem.ts';

type Json = Record<string, unknown>;

const headerParametersOf = (row: Operation): unknown[] =>
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
const responseHeadersOf = (row: Operation): (keyof typeof RESPONSE_HEADERS)[] => {
  const etag = row.noETag ? [] : (['ETag'] as const);
  if (!isRead(row)) return [...etag, 'Consistency-Token', ...(row.location ? (['Location'] as const) : [])];
  return isList(row) ? ['Projection-Position', 'Link', 'Total-Count'] : ['Projection-Position', ...etag];
};

const operationEntry = (name: string, row: Operation, schemas: Schemas) => {
  const status = row.status ?? (row.reply ? 200 : 204);
  const headers = Object.fromEntries(responseHeadersOf(row).map((one) => [one, { $ref: `#/components/headers/${one}` }]));
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
    parameters: [...parametersOf(row.path, row.query, schemas), ...headerParametersOf(row)],
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

const optionalHeader = (name: string, description: string) => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
});

const PROBLEM_CONTENT = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
const responseHeader = (description: string) => ({ description, schema: { type: 'string' } });

const RESPONSE_HEADERS = {
  ETag: responseHeader("The revision of the resource's stream, for If-Match and If-None-Match"),
  'Consistency-Token': responseHeader('The place in the log of what was done: sent with a read, it is waited for'),
  'Projection-Position': responseHeader('The place in the log up to which the answer holds what happened'),
  Location: responseHeader('Where the resource is'),
  Link: responseHeader('RFC 8288: the next page as `rel="next"`; absent on the last'),
  'Total-Count': responseHeader('How many there are in all, on lists that keep count, for who may see them all'),
};

/** What every operation shares. */
const SHARED_COMPONENTS = {
  headers: RESPONSE_HEADERS,
  parameters: {
    ConsistencyToken: optionalHeader(
      'Consistency-Token',
      'Waits up to 2 s until the answer holds what the mutation with this token did. Without it, up to 250 ms for what the caller did last through the same process',
    ),
    IfMatch: optionalHeader('If-Match', 'The ETag of an earlier answer: 412 where the resource has changed since'),
    IdempotencyKey: optionalHeader('Idempotency-Key', '1 to 255 printable characters: the same request under the same key happens once'),
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
    Problem: { description: 'RFC 9457 problem', content: PROBLEM_CONTENT },
    RateLimited: {
      description: 'Too many requests: nothing happened',
      headers: {
        'Retry-After': responseHeader('In so many seconds one more is let through'),
        'RateLimit-Policy': responseHeader('How many requests there may be in how many seconds'),
        RateLimit: responseHeader('How many are left, and in how many seconds all are there again'),
      },
      content: PROBLEM_CONTENT,
    },
  },
};

const PROBLEM_SCHEMA = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'request_id'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string' },
    code: { type: 'string', enum: Object.keys(PROBLEMS) },
    errors: {
      type: 'array',
      items: { type: 'object', properties: { pointer: { type: 'string' }, code: { type: 'string' }, message: { type: 'string' } } },
    },
    request_id: { type: 'string' },
  },
};

/** The OpenAPI 3.1 document of the operations, made from the same tables that are mounted. */
export const openapi = (operations: Operations, plain: PlainPaths, url: string): Json => {
  const schemas: Schemas = { Problem: PROBLEM_SCHEMA };
  const paths: Record<string, Json> = {};
  for (const [name, row] of Object.entries(operations)) {
    const path = templateOf(row.path);
    paths[path] = { ...paths[path], [row.method]: operationEntry(name, row, schemas) };
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
    components: { ...SHARED_COMPONENTS, schemas },
  };
};
