import { areaResources } from '../fixtures/area-cases.ts';
import type { ResourceType } from './seed-tenant.ts';

export type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly minimum?: number;
};

type Content = Readonly<Record<string, { readonly schema: Schema }>>;
export type OperationEntry = {
  readonly operationId: string;
  readonly description?: string;
  readonly security?: readonly object[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
};
export type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationEntry>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

/**
 * A place in a request where an id is sent (in the path, the query or the body), with the type of the resource that it
 * identifies.
 */
export type IdPosition = { readonly in: 'path' | 'query' | 'body'; readonly name: string; readonly type: ResourceType };
export type Call = OperationEntry & { readonly method: string; readonly path: string; readonly idPositions: readonly IdPosition[] };

/** The payment provider's id of the price that the dataset's plan has. */
export const PLAN_PRICE = 'price_of_the_plan';

/** The configuration key whose value the credential requests of the dataset ask for. */
export const CONFIG_KEY = 'token';

const ID = '^c[a-z0-9]{24}$';

/** Maps a path segment to the type of the resources whose ids follow it. */
const COLLECTIONS: Readonly<Record<string, ResourceType>> = {
  'runner-keys': 'runner key',
  'webhook-integrations': 'integration',
  jobs: 'job',
  'runner-credentials': 'runner credential',
  listings: 'listing',
  versions: 'version',
  benchmarks: 'benchmark slug',
  imports: 'memory import',
  'cron-jobs': 'cron job',
  'cron-blackouts': 'blackout',
  mailboxes: 'mailbox',
  attachments: 'attachment',
  'allowed-accounts': 'allowed account',
  'linked-identities': 'linked identity',
  credentials: 'linked identity',
  integrations: 'provider',
  roles: 'role holder',
  grants: 'grantee',
  members: 'member',
  users: 'user',
  events: 'event',
  'sign-ins': 'sign-in',
};

const NAMES: Readonly<Record<string, ResourceType>> = {
  tenant_id: 'tenant',
  agent_id: 'agent',
  agent_ids: 'agent',
  target_agent_id: 'agent',
  source_id: 'agent',
  user_id: 'member',
  new_owner_id: 'heir',
  delivery_id: 'delivery',
  ids: 'delivery',
  session_id: 'session',
  reservation_id: 'reservation',
  request_id: 'credential request',
  digest: 'file',
  integration_id: 'integration',
  key_id: 'api key',
  message_id: 'message',
  in_reply_to: 'message',
  attachment_ids: 'attachment',
  model_id: 'model',
  skill_id: 'skill',
  model_ids: 'model',
  failover_chain: 'fallback model',
  tool_id: 'tool',
  connector: 'connector',
  listing_id: 'offered listing',
  import_id: 'memory import',
  entry_id: 'memory entry',
  job_id: 'cron job',
  version: 'version',
  slug: 'listing slug',
  key: 'use case',
  plan_id: 'plan',
  name: 'projection',
  rebuild: 'rebuild',
  event: 'parked event',
  target: 'agent',
  after: 'agent',
  before: 'agent',
  ...Object.fromEntries(areaResources.map(({ parameter }) => [parameter, parameter])),
};

/**
 * Returns the type of the resource that a parameter identifies. @throws Error if the tables of this file do not contain
 * the parameter
 */
const resourceTypeOf = (path: string, name: string, where: IdPosition['in']): ResourceType => {
  if (name === 'attachment_ids' && path.includes('/sessions/')) return 'session file';
  if (name === 'message_id' && path.includes('/sessions/')) return 'approval';
  const before = path.split('/')[path.split('/').indexOf(`{${name}}`) - 1] ?? '';
  const collection = before === 'api-keys' ? (path.startsWith('/admin') ? 'platform key' : 'api key') : COLLECTIONS[before];
  const ofPath = where === 'path' && name === 'delivery_id' && path.endsWith('/release') ? 'blocked delivery' : collection;
  const type = (where === 'path' ? ofPath : undefined) ?? (name === 'id' ? undefined : NAMES[name]);
  if (!type) throw new Error(`${path}: add the parameter ${name} to the tables of resource types`);
  return type;
};

export const resolved = (document: Document, schema: Schema): Schema =>
  schema.$ref ? resolved(document, document.components.schemas[schema.$ref.split('/').at(-1)!]!) : schema;

const containsId = (document: Document, schema: Schema): boolean => {
  const { pattern, items, anyOf } = resolved(document, schema);
  return (
    pattern === ID || (items !== undefined && containsId(document, items)) || (anyOf?.some((one) => containsId(document, one)) ?? false)
  );
};

const bodyOf = (document: Document, { requestBody }: OperationEntry): Schema | null => {
  const schema = requestBody?.content['application/json']?.schema;
  return schema ? resolved(document, schema) : null;
};

/**
 * Returns whether a field is an id although its schema does not say so: the fields of a submitted credential. In a new
 * cron job, the field `target` can be the id of an agent (see `bodyFor`).
 */
const isUndeclaredId = (path: string, name: string): boolean =>
  (name === 'target' && /\/cron-jobs(?:\/preview)?$/.test(path)) ||
  (['request_id', 'skill_id'].includes(name) && path.endsWith('/{tenant_id}/credentials'));

/** Returns the places of all ids in a body, including those in nested objects and in lists of objects. */
const inBody = (document: Document, path: string, schema: Schema | null): IdPosition[] =>
  Object.entries(schema?.properties ?? {}).flatMap(([name, field]): IdPosition[] => {
    if (containsId(document, field) || isUndeclaredId(path, name)) return [{ in: 'body', name, type: resourceTypeOf(path, name, 'body') }];
    const { items, ...nested } = resolved(document, field);
    return inBody(document, path, items ? resolved(document, items) : nested);
  });

const idPositionsOf = (document: Document, path: string, call: OperationEntry): IdPosition[] => {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(
    ([, name]): IdPosition => ({ in: 'path', name: name!, type: resourceTypeOf(path, name!, 'path') }),
  );
  const inQuery = (call.parameters ?? [])
    .filter(({ in: where, name, schema }) => where === 'query' && (name.endsWith('_id') || containsId(document, schema)))
    .filter(({ name }) => !['resource_id', 'correlation_id', 'provider_delivery_id'].includes(name))
    .map(({ name }): IdPosition => ({ in: 'query', name, type: resourceTypeOf(path, name, 'query') }));
  return [...inPath, ...inQuery, ...inBody(document, path, bodyOf(document, call))];
};

/** Returns all operations of the document that accept a bearer credential, with the places of ids in their requests. */
export const callsOf = (document: Document): Call[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { security }]) => security === undefined || security.some((way) => 'bearer' in way))
      .map(([method, call]): Call => ({ ...call, method: method.toUpperCase(), path, idPositions: idPositionsOf(document, path, call) })),
  );

let createdCount = 0;

/** Returns a minimal valid value for a schema. For fields with the names in `ids`, it contains the values in `ids`. */
const exampleOf = (document: Document, unresolved: Schema, ids: Readonly<Record<string, string>>): unknown => {
  const schema = resolved(document, unresolved);
  const [type] = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  if (schema.const !== undefined) return schema.const;
  // Choose a role that an ADMIN may assign, which is any role but OWNER.
  if (schema.enum) return schema.enum.find((value) => value !== 'OWNER');
  if (schema.anyOf) return exampleOf(document, schema.anyOf[0]!, ids);
  if (type === 'object') {
    const wanted = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name) || name in ids);
    return Object.fromEntries(wanted.map(([name, field]) => [name, exampleField(document, field, ids, name)]));
  }
  if (type === 'array') {
    const itemHasId = Object.keys(resolved(document, schema.items ?? {}).properties ?? {}).some((name) => name in ids);
    return Array.from({ length: Math.max(schema.minItems ?? 0, itemHasId ? 1 : 0) }, () => exampleOf(document, schema.items!, ids));
  }
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1;
  if (type === 'boolean') return true;
  if (schema.format === 'email') return `made${createdCount++}@example.test`;
  if (schema.format === 'date-time') return '2030-01-01T00:00:00Z';
  if (schema.format === 'date') return '2126-12-24';
  if (schema.format === 'date-time') return '2126-12-24T12:00:00.000Z';
  if (schema.format === 'uri') return `https://example.com/made${createdCount++}`;
  return 'made'.concat(String(createdCount++)).padEnd(schema.minLength ?? 1, 'x');
};

const exampleField = (document: Document, field: Schema, ids: Readonly<Record<string, string>>, name: string): unknown => {
  const id = ids[name];
  if (id === undefined) return exampleOf(document, field, ids);
  const { type, anyOf = [] } = resolved(document, field);
  return type === 'array' || anyOf.some((one) => one.type === 'array') ? [id] : id;
};

/**
 * Fields that a body must contain because of the value of another field. Each row applies to the paths that match its
 * expression.
 */
const DEPENDENT_FIELDS: readonly (readonly [path: RegExp, fields: object])[] = [
  [/\/cron-jobs(?:\/preview)?$/, { kind: 'recurring', target_kind: 'internal_agent', interval_minutes: 60 }],
  [/^\/benchmarks$/, { dataset_uri: 'https://example.com/tasks.jsonl' }],
  [/\/benchmark-runs$/, { benchmark: 'seeded' }],
  [/\/checkout-session$/, { price_id: PLAN_PRICE }],
  [/\/database-credentials$/, { host: 'db.example.com', sslmode: 'require', test_connection: false }],
  [/\/credentials$/, { config_key: CONFIG_KEY }],
  [/\/memory\/forget$/, { since: '2026-01-01T00:00:00Z' }],
  [/\/replay$/, { from: '2026-01-01T00:00:00Z', to: '2026-12-31T00:00:00Z' }],
];

/** Returns a valid body with these ids for the operation, or undefined if the operation has no body. */
export const bodyFor = (
  document: Document,
  call: OperationEntry & { readonly path: string },
  ids: Readonly<Record<string, string>>,
): unknown => {
  const schema = bodyOf(document, call);
  if (!schema) return undefined;
  const body = exampleOf(document, schema, ids);
  const dependent = DEPENDENT_FIELDS.find(([path]) => path.test(call.path))?.[1];
  return dependent ? { ...(body as object), ...dependent } : body;
};
