import type { ResourceType } from './dataset.ts';

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
export type Described = {
  readonly operationId: string;
  readonly description?: string;
  readonly security?: readonly object[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
};
export type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

/** Somewhere in a request that an id stands. */
export type Place = { readonly in: 'path' | 'query' | 'body'; readonly name: string; readonly type: ResourceType };
export type Call = Described & { readonly method: string; readonly path: string; readonly places: readonly Place[] };

const ID = '^c[a-z0-9]{24}$';

/** What the ids of a collection's items name; the collection is the path's segment before them. */
const COLLECTIONS: Readonly<Record<string, ResourceType>> = {
  'runner-keys': 'runner key',
  'webhook-integrations': 'integration',
  'runner-credentials': 'runner credential',
  'allowed-accounts': 'allowed account',
  roles: 'role holder',
  grants: 'grantee',
  members: 'member',
  users: 'user',
};

const NAMES: Readonly<Record<string, ResourceType>> = {
  tenant_id: 'tenant',
  agent_id: 'agent',
  user_id: 'member',
  new_owner_id: 'heir',
  delivery_id: 'delivery',
  integration_id: 'integration',
  model_id: 'model',
  model_ids: 'model',
  failover_chain: 'model',
  plan_id: 'plan',
  name: 'projection',
  rebuild: 'rebuild',
  event: 'parked event',
};

/** @throws Error for a parameter of which nobody has said what it names */
const typeOf = (path: string, name: string, where: Place['in']): ResourceType => {
  const before = path.split('/')[path.split('/').indexOf(`{${name}}`) - 1] ?? '';
  const collection = before === 'api-keys' ? (path.startsWith('/admin') ? 'platform key' : 'api key') : COLLECTIONS[before];
  const type = (where === 'path' ? collection : undefined) ?? (name === 'id' ? undefined : NAMES[name]);
  if (!type) throw new Error(`${path}: nothing says what ${name} names`);
  return type;
};

export const resolved = (document: Document, schema: Schema): Schema =>
  schema.$ref ? resolved(document, document.components.schemas[schema.$ref.split('/').at(-1)!]!) : schema;

const bearsId = (document: Document, schema: Schema): boolean => {
  const { pattern, items, anyOf } = resolved(document, schema);
  return pattern === ID || (items !== undefined && bearsId(document, items)) || (anyOf?.some((one) => bearsId(document, one)) ?? false);
};

const bodyOf = (document: Document, { requestBody }: Described): Schema | null => {
  const schema = requestBody?.content['application/json']?.schema;
  return schema ? resolved(document, schema) : null;
};

/** Ids in a body: its own fields, and those of the objects in it. */
const inBody = (document: Document, path: string, schema: Schema | null): Place[] =>
  Object.entries(schema?.properties ?? {}).flatMap(([name, field]): Place[] => {
    if (bearsId(document, field)) return [{ in: 'body', name, type: typeOf(path, name, 'body') }];
    return inBody(document, path, resolved(document, field));
  });

const placesOf = (document: Document, path: string, call: Described): Place[] => {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(
    ([, name]): Place => ({ in: 'path', name: name!, type: typeOf(path, name!, 'path') }),
  );
  const inQuery = (call.parameters ?? [])
    .filter(({ in: where, name, schema }) => where === 'query' && (name.endsWith('_id') || bearsId(document, schema)))
    .filter(({ name }) => name !== 'resource_id')
    .map(({ name }): Place => ({ in: 'query', name, type: typeOf(path, name, 'query') }));
  return [...inPath, ...inQuery, ...inBody(document, path, bodyOf(document, call))];
};

/** Every operation of the document that takes a key, with the places where it bears ids. */
export const callsOf = (document: Document): Call[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { security }]) => security === undefined || security.some((way) => 'bearer' in way))
      .map(([method, call]): Call => ({ ...call, method: method.toUpperCase(), path, places: placesOf(document, path, call) })),
  );

let made = 0;

/** Something that a schema takes: the least of it, with the ids that are given for the fields that bear some. */
export const example = (document: Document, unresolved: Schema, ids: Readonly<Record<string, string>>): unknown => {
  const schema = resolved(document, unresolved);
  const [type] = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  if (schema.const !== undefined) return schema.const;
  // An ADMIN may make anybody anything but an OWNER.
  if (schema.enum) return schema.enum.find((value) => value !== 'OWNER');
  if (schema.anyOf) return example(document, schema.anyOf[0]!, ids);
  if (type === 'object') {
    const wanted = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name) || name in ids);
    return Object.fromEntries(wanted.map(([name, field]) => [name, filled(document, field, ids, name)]));
  }
  if (type === 'array') return Array.from({ length: schema.minItems ?? 0 }, () => example(document, schema.items!, ids));
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1;
  if (type === 'boolean') return true;
  if (schema.format === 'email') return `made${made++}@example.test`;
  return 'made'.concat(String(made++)).padEnd(schema.minLength ?? 1, 'x');
};

const filled = (document: Document, field: Schema, ids: Readonly<Record<string, string>>, name: string): unknown => {
  const id = ids[name];
  if (id === undefined) return example(document, field, ids);
  return resolved(document, field).type === 'array' ? [id] : id;
};

/** A body that the operation takes, with these ids in it; undefined where it takes none. */
export const bodyFor = (document: Document, call: Described, ids: Readonly<Record<string, string>>): unknown => {
  const schema = bodyOf(document, call);
  return schema ? example(document, schema, ids) : undefined;
};
