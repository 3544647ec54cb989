import { z } from 'zod';
import type { Permission, Permit } from '../../domain/access/permission.ts';
import { LABELS, PERMISSION_OF_LABEL } from '../../domain/agents/role-permissions.ts';
import { MAX_HIDDEN } from '../../projections/audit/audit-log.queries.ts';
import { jsonContentOf } from './example.ts';
import { HEADINGS, INTRODUCTION, PLAIN_HEADINGS } from './introduction.ts';
import { parametersOf, pathParameters, type Schemas, templateOf } from './json-schema.ts';
import { createsResource, isRead, needsBody, type Operation, type Operations, readsBody, takesToken } from './operation.ts';
import { headerParameter, PLAIN_SCHEMAS, type PlainPaths } from './plain-route.ts';
import { PROBLEM_RESPONSES, PROBLEM_SCHEMA, problemResponses, responseHeader } from './problem-responses.ts';
import { UPLOAD_SCHEMAS } from './upload-route.ts';

type Json = Record<string, unknown>;

const headerParametersOf = (row: Operation): unknown[] =>
  [
    ...(takesToken(row) ? ['ConsistencyToken'] : []),
    ...(isRead(row) || row.noETag || createsResource(row) ? [] : ['IfMatch']),
    ...(isRead(row) ? [] : ['IdempotencyKey']),
  ].map((name) => ({ $ref: `#/components/parameters/${name}` }));

/**
 * Returns the text that names a permission in the description of an operation. It includes the label of a permission on
 * agents, which is the name that people see.
 */
const permissionName = (permission: Permission): string => {
  const label = LABELS.find((one) => PERMISSION_OF_LABEL[one] === permission);
  return label ? `\`${permission}\` (${label})` : `\`${permission}\``;
};

const RECENT_SIGN_IN_TEXT = ' A browser that signed in at the issuer must have done so within the last 15 minutes.';

const permissionText = (permit: Permit): string => {
  if (permit === 'none') return 'Requires no credential.';
  if (permit === 'any') return 'Requires any valid credential.';
  if (typeof permit === 'string') return `Requires the permission ${permissionName(permit)}.`;
  const permissions = permit.all.map(permissionName).join(' and ');
  return `Requires the permission${permit.all.length > 1 ? 's' : ''} ${permissions}${permit.runner ? ", or the agent's runner key" : ''}.${permit.recentSignIn ? RECENT_SIGN_IN_TEXT : ''}`;
};

/** Returns whether the operation has pages: those of a list, or of a list within a single resource. */
const isPaged = ({ query }: Operation): boolean => query instanceof z.ZodObject && 'limit' in query.shape;
const isList = (row: Operation): boolean => isPaged(row) && row.reply instanceof z.ZodArray;

const responseHeadersOf = (row: Operation): (keyof typeof RESPONSE_HEADERS)[] => {
  const etag = row.noETag ? [] : (['ETag'] as const);
  if (!isRead(row)) return [...etag, 'Consistency-Token', 'Idempotent-Replayed', ...(row.location ? (['Location'] as const) : [])];
  if (isList(row)) {
    const hidden = 'by' in (row.query as z.ZodObject).shape ? (['Hidden-Count'] as const) : [];
    return ['Projection-Position', 'Projection-Lag', 'Link', 'Total-Count', ...hidden];
  }
  return ['Projection-Position', 'Projection-Lag', ...etag, ...(isPaged(row) ? (['Link'] as const) : [])];
};

const problemStatusesOf = (row: Operation): number[] => [
  400,
  ...(row.permit === 'none' ? [] : [401, 403, 429]),
  ...(pathParameters(row.path).length > 0 ? [404] : []),
  ...(isRead(row) ? [] : [409, 412]),
  ...(readsBody(row) ? [408, 413, 415] : []),
  422,
  ...(row.asksOtherHosts ? [502] : []),
  503,
];

/** The field that contains the path of the operation's form in the console. */
const FORM_PATH = 'x-console-form';

const operationEntry = (name: string, row: Operation, schemas: Schemas) => {
  const status = row.status ?? (row.reply ? 200 : 204);
  const headers = Object.fromEntries(responseHeadersOf(row).map((name) => [name, { $ref: `#/components/headers/${name}` }]));
  const content = {
    headers,
    ...(row.reply ? { content: jsonContentOf(row.reply, 'output', schemas) } : {}),
  };
  return {
    operationId: name,
    summary: row.summary,
    description: [row.details, row.permissionNote ?? permissionText(row.permit)].filter((text) => text !== undefined).join(' '),
    tags: [row.area?.title ?? 'Others'],
    ...(row.permit === 'none' ? { security: [] } : {}),
    ...(isRead(row) ? {} : { [FORM_PATH]: `/console/run/${name}` }),
    parameters: [...parametersOf(row.path, row.query, schemas), ...headerParametersOf(row)],
    ...(row.body ? { requestBody: { required: needsBody(row), content: jsonContentOf(row.body, 'input', schemas) } } : {}),
    responses: {
      [status]: { description: row.summary, ...content },
      ...(row.alternateStatus === 200 ? { 200: { description: 'The resource existed before and has been updated', ...content } } : {}),
      ...(row.alternateStatus === 204 ? { 204: { description: 'The resource has been removed', headers } } : {}),
      ...(isRead(row) && !isList(row) && !row.noConditionalGet && !row.noETag
        ? { 304: { description: 'The resource still matches the ETag in If-None-Match' } }
        : {}),
      ...problemResponses(problemStatusesOf(row)),
    },
  };
};

const optionalHeader = (name: string, description: string) => headerParameter(name, description, false);

const RESPONSE_HEADERS = {
  ETag: responseHeader("The revision of the resource's stream, for If-Match and If-None-Match"),
  'Consistency-Token': responseHeader(
    'The position of the mutation in the event log; a read that sends it waits until its projection has passed it',
  ),
  'Projection-Position': responseHeader('The position in the event log up to which the response is complete'),
  'Projection-Lag': responseHeader(
    'For how many seconds the event log has had events after Projection-Position; absent if it is less than one second',
  ),
  'Idempotent-Replayed': responseHeader('`true` if the response repeats that of an earlier request with the same Idempotency-Key'),
  Location: responseHeader('The path of the resource'),
  Link: responseHeader('RFC 8288: the next page as `rel="next"`; absent on the last page'),
  'Total-Count': responseHeader('The number of all items; only on lists that are counted, and only if the caller may see every item'),
  'Hidden-Count': responseHeader(
    `With the filter \`by\`: how many entries of the audit log it hides in the time of this page, at most ${MAX_HIDDEN}`,
  ),
};

/** The components of the OpenAPI document that all operations use. */
const SHARED_COMPONENTS = {
  headers: RESPONSE_HEADERS,
  parameters: {
    ConsistencyToken: optionalHeader(
      'Consistency-Token',
      "The read waits up to 2 s until the projection has passed this position. Without a token it waits up to 250 ms for the caller's last mutation through the same process",
    ),
    IfMatch: optionalHeader('If-Match', 'The ETag of an earlier response; the request fails with 412 if the resource has changed since'),
    IdempotencyKey: optionalHeader(
      'Idempotency-Key',
      '1 to 255 printable ASCII characters; the same request with the same key is executed once',
    ),
  },
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: 'An API key, or a token of the configured OIDC issuer' },
    skillToken: { type: 'http', scheme: 'bearer', description: "The token of a skill's webhook" },
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: 'annals_session',
      description:
        'The cookie of a signed-in browser; over TLS its name has the prefix `__Host-`, and without TLS it ends in the port (`annals_session_4100`)',
    },
  },
  responses: PROBLEM_RESPONSES,
};

/** Returns the headings, each with its description. */
const tagsOf = (operations: Operations) => {
  const ofAreas = Object.values(operations).flatMap(({ area }) => (area?.description ? [[area.title, area.description] as const] : []));
  const descriptions = new Map([...ofAreas, ...Object.entries(PLAIN_HEADINGS)]);
  const names = new Set([...HEADINGS.filter((name) => descriptions.has(name)), ...descriptions.keys()]);
  return [...names].map((name) => ({ name, description: descriptions.get(name) }));
};

/**
 * Creates the OpenAPI 3.1 document. It describes the operations in the tables (as `mount` does) and the plain routes.
 */
export const openapi = (operations: Operations, plain: PlainPaths, url: string): Json => {
  const schemas: Schemas = { Problem: PROBLEM_SCHEMA, ...UPLOAD_SCHEMAS, ...PLAIN_SCHEMAS };
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
      summary: 'A multi-tenant platform for running and administering software agents',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url }],
    tags: tagsOf(operations),
    security: [{ bearer: [] }, { session: [] }],
    paths,
    components: { ...SHARED_COMPONENTS, schemas },
  };
};
