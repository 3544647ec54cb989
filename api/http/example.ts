import type { z } from 'zod';
import { requestSchemaOf, type Schemas, schemaOf } from './json-schema.ts';

type Json = Record<string, unknown>;

const resolve = (schema: Json, schemas: Schemas): Json =>
  typeof schema.$ref === 'string' ? (schemas[schema.$ref.replace('#/components/schemas/', '')] as Json) : schema;

const isNullable = ({ type, anyOf }: Json): boolean =>
  [type].flat().includes('null') || (anyOf !== undefined && (anyOf as Json[]).some(isNullable));

const objectExample = ({ properties = {}, required = [] }: Json, schemas: Schemas): Json =>
  Object.fromEntries(
    Object.entries(properties as Json)
      .map(([name, one]) => [name, exampleOf(one as Json, schemas), (one as Json).examples !== undefined] as const)
      .filter(([name, example, isExplicit]) => example !== undefined && (isExplicit || (required as string[]).includes(name)))
      .map(([name, example]) => [name, example]),
  );

const exampleOfType = (schema: Json, schemas: Schemas): unknown => {
  const { type, items, minimum = 0 } = schema;
  switch ([type].flat()[0]) {
    case 'object':
      return objectExample(schema, schemas);
    case 'array': {
      const item = exampleOf((items ?? {}) as Json, schemas);
      return item === undefined ? [] : [item];
    }
    case 'boolean':
      return false;
    case 'integer':
    case 'number':
      return minimum;
    default:
      return isNullable(schema) ? null : undefined;
  }
};

/**
 * Creates an example for a JSON Schema from the examples of its fields. A required field without an example gets its
 * first allowed value, false, its minimum, or null. An optional field without an example is left out. Returns undefined
 * if a required text field has no example.
 */
const exampleOf = (reference: Json, schemas: Schemas): unknown => {
  const schema = resolve(reference, schemas);
  const { examples, anyOf } = schema;
  if (examples !== undefined) return (examples as unknown[])[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return (schema.enum as unknown[])[0];
  if (anyOf !== undefined) return exampleOf((anyOf as Json[])[0]!, schemas) ?? (isNullable(schema) ? null : undefined);
  return exampleOfType(schema, schemas);
};

/** Returns the OpenAPI content of a JSON body: its schema and an example. Adds the named schemas to `schemas`. */
export const jsonContentOf = (body: z.ZodType, io: 'input' | 'output', schemas: Schemas) => {
  const schema = schemaOf(body, io, schemas) as Json;
  return { 'application/json': { schema, example: exampleOf(schema, schemas) } };
};

/**
 * Returns the OpenAPI content of the request body of a plain route. Its schema is complete: it does not refer to the
 * document's components.
 */
export const requestContentOf = (body: z.ZodType) => {
  const schema = requestSchemaOf(body) as Json;
  return { 'application/json': { schema, example: exampleOf(schema, {}) } };
};
