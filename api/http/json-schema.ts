import { z } from 'zod';
import { omit } from '../../domain/omit.ts';

type Json = Record<string, unknown>;

/** The named schemas of the OpenAPI document, collected while the document is built. */
export type Schemas = Json;

/**
 * Changes the references in a schema so that they point to the components of the OpenAPI document, which contain the
 * named schemas.
 */
const withComponentReferences = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));

/** Returns a JSON Schema in which `change` was applied to every subschema, to the innermost first. */
const mapSchema = (schema: Json, change: (schema: Json) => Json): Json => {
  const map = (one: unknown): unknown => (typeof one === 'object' && one !== null ? mapSchema(one as Json, change) : one);
  const mapped = Object.entries(schema).map(([keyword, value]) => {
    if (keyword === 'properties')
      return [keyword, Object.fromEntries(Object.entries(value as Json).map(([name, one]) => [name, map(one)]))];
    if (keyword === 'items' || keyword === 'additionalProperties' || keyword === 'propertyNames') return [keyword, map(value)];
    if (keyword === 'anyOf' || keyword === 'oneOf' || keyword === 'allOf') return [keyword, (value as unknown[]).map(map)];
    return [keyword, value];
  });
  return change(Object.fromEntries(mapped));
};

/**
 * Removes the parts of a schema that do not help readers: the long pattern of a date-time, and the bounds of
 * JavaScript's safe integers.
 */
const withoutNoise = ({ pattern, minimum, maximum, ...schema }: Json): Json => ({
  ...schema,
  ...(pattern === undefined || schema.format === 'date-time' ? {} : { pattern }),
  ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
  ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
});

/**
 * Moves a default value from the keyword `default` to the description: with the keyword, generators of typed clients
 * would make the field required in requests.
 */
const withDefaultInText = ({ default: value, ...schema }: Json): Json => {
  if (value === undefined) return schema;
  const text = `Default: \`${JSON.stringify(value)}\``;
  return { ...schema, description: schema.description ? `${schema.description}. ${text}` : text };
};

/**
 * Converts a zod schema to JSON Schema. Adds the named schemas that it uses to `schemas`. If `io` is `input`, the
 * descriptions in these named schemas contain the default values.
 */
export const schemaOf = (schema: z.ZodType, io: 'input' | 'output', schemas: Schemas): unknown => {
  const { $defs, properties } = z.toJSONSchema(z.object({ it: schema }), { io, unrepresentable: 'any' }) as unknown as {
    $defs?: Json;
    properties: { it: unknown };
  };
  for (const [name, definition] of Object.entries($defs ?? {})) {
    const rest = omit(withComponentReferences(definition) as Json, 'id');
    const named = mapSchema(rest, withoutNoise);
    schemas[name] = io === 'input' ? mapSchema(named, withDefaultInText) : named;
  }
  return mapSchema(withComponentReferences(properties.it) as Json, withoutNoise);
};

/** Converts the zod schema of a request body to a JSON Schema that does not refer to the document's components. */
export const requestSchemaOf = (schema: z.ZodType): unknown => {
  const schemas: Schemas = {};
  const { $ref, ...rest } = schemaOf(schema, 'input', schemas) as Json;
  return typeof $ref === 'string' ? schemas[$ref.replace('#/components/schemas/', '')] : rest;
};

/** Returns the names of the path parameters: `['tenant_id']` for `/tenant/:tenant_id/agents`. */
export const pathParameters = (path: string): string[] => [...path.matchAll(/:([a-z_]+)/g)].map((match) => match[1]!);

/** Converts a path to the form of OpenAPI: `/tenant/:tenant_id/agents` becomes `/tenant/{tenant_id}/agents`. */
export const templateOf = (path: string): string => path.replace(/:([a-z_]+)/g, '{$1}');

/** The descriptions of path parameters whose names do not say it. Each key is the path segment before the parameter. */
const PARAMETER_SUBJECTS: Readonly<Record<string, string>> = {
  agents: 'The id of the agent',
  skills: 'The id of the skill',
  'cron-jobs': 'The id of the cron job',
  'cron-blackouts': 'The id of the blackout',
  mailboxes: 'The id of the mailbox',
  attachments: 'The id of the attachment',
  brand: 'The slug of the tenant',
  'use-cases': 'The key of the use case: lower-case letters, digits and hyphens',
  'linked-identities': 'The id of the linked identity',
  credentials: 'The id of the linked identity',
  integrations: 'The id of the provider, such as github',
  marketplace: 'The slug of the listing',
  benchmarks: 'The slug of the benchmark',
  listings: 'The id of the listing',
  imports: 'The id of the import',
  versions: 'The version',
  connectors: 'The name of the connector: lower-case letters, digits and hyphens',
  'sign-ins': 'The id of the sign-in',
  'api-keys': 'The id of the API key',
  'runner-keys': 'The id of the runner key',
  'runner-credentials': 'The id of the credential',
  'webhook-integrations': 'The id of the webhook integration',
  inbound: 'The id of the webhook integration',
  jobs: 'The id of the job',
  files: 'The SHA-256 of the file, in hex',
  'allowed-accounts': 'The id of the allowed account',
  projections: 'The name of the projection',
  rebuilds: 'The id of the rebuild',
  parked: 'The id of the parked event',
  problems: 'The code of the problem, with hyphens',
};

/** `user_id` is the id of the user. */
const subjectOf = (name: string): string | undefined =>
  name.endsWith('_id') ? `The id of the ${name.slice(0, -'_id'.length).replaceAll('_', ' ')}` : undefined;

const pathParameter = (path: string, name: string) => {
  const before = path.split('/').at(path.split('/').indexOf(`:${name}`) - 1)!;
  return { name, in: 'path', required: true, description: PARAMETER_SUBJECTS[before] ?? subjectOf(name), schema: { type: 'string' } };
};

const queryParameter = (name: string, { description, ...schema }: Json, required: boolean) => ({
  name,
  in: 'query',
  required,
  description,
  schema,
});

/** Returns the OpenAPI parameters of a route: first those of the path, followed by those of the query. */
export const parametersOf = (path: string, query: z.ZodType | undefined, schemas: Schemas): unknown[] => {
  const inPath = pathParameters(path).map((name) => pathParameter(path, name));
  if (!query) return inPath;
  const { properties = {}, required = [] } = schemaOf(query, 'input', schemas) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return [...inPath, ...Object.entries(properties).map(([name, schema]) => queryParameter(name, schema, required.includes(name)))];
};
