import { z } from 'zod';

type Json = Record<string, unknown>;

/** The named schemas of the OpenAPI document, collected while the document is built. */
export type Schemas = Json;

/**
 * Changes the references in a schema so that they point to the components of the OpenAPI document, where the named
 * schemas are.
 */
const withComponentReferences = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));

/** Converts a zod schema to JSON Schema. Adds the named schemas to which it refers to `schemas`. */
export const schemaOf = (schema: z.ZodType, io: 'input' | 'output', schemas: Schemas): unknown => {
  const { $defs, properties } = z.toJSONSchema(z.object({ it: schema }), { io, unrepresentable: 'any' }) as unknown as {
    $defs?: Json;
    properties: { it: unknown };
  };
  for (const [name, definition] of Object.entries($defs ?? {})) {
    const { id: _, ...rest } = withComponentReferences(definition) as Json;
    schemas[name] = rest;
  }
  return withComponentReferences(properties.it);
};

/** Returns the names of the path parameters: `/tenant/:tenant_id/agents` -> `['tenant_id']`. */
export const pathParameters = (path: string): string[] => [...path.matchAll(/:([a-z_]+)/g)].map((match) => match[1]!);

/** Converts a path to the form in OpenAPI: `/tenant/:tenant_id/agents` -> `/tenant/{tenant_id}/agents`. */
export const templateOf = (path: string): string => path.replace(/:([a-z_]+)/g, '{$1}');

/** The OpenAPI parameters of a route: those of its path, then those of its query. */
export const parametersOf = (path: string, query: z.ZodType | undefined, schemas: Schemas): unknown[] => {
  const inPath = pathParameters(path).map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  if (!query) return inPath;
  const { properties = {}, required = [] } = schemaOf(query, 'input', schemas) as { properties?: Json; required?: string[] };
  return [
    ...inPath,
    ...Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', required: required.includes(name), schema })),
  ];
};
