import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Answer } from '../fixtures/test-platform.ts';
import { type Call, type Document, resolved, type Schema } from './id-positions.ts';

/** Returns the JSON pointers of those fields of a value that its schema does not name. */
const undeclaredIn = (document: Document, unresolved: Schema, value: unknown, at: string): string[] => {
  const schema = resolved(document, unresolved);
  if (Array.isArray(value))
    return value.flatMap((item, index) => (schema.items ? undeclaredIn(document, schema.items, item, `${at}/${index}`) : []));
  if (typeof value !== 'object' || value === null) return [];
  if (schema.anyOf) {
    const found = schema.anyOf.map((one) => undeclaredIn(document, one, value, at));
    return found.find((names) => names.length === 0) ?? found[0]!;
  }
  if (!schema.properties) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const known = schema.properties![name];
    if (known) return undeclaredIn(document, known, field, `${at}/${name}`);
    return typeof schema.additionalProperties === 'object' ? [] : [`${at}/${name}`];
  });
};

/** The id under which the validator stores the schemas that are shared by several operations. */
const SHARED = 'shared';

/**
 * Returns a function that maps a schema of the OpenAPI document to its validator. Each schema is compiled only once.
 */
const createCompiler = (document: Document): ((schema: Schema) => ValidateFunction) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  (addFormats as unknown as (on: Ajv2020) => void)(ajv);
  ajv.addSchema({ $id: SHARED, components: document.components });
  const compiled = new Map<Schema, ValidateFunction>();
  return (schema) => {
    const known = compiled.get(schema);
    if (known) return known;
    const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', `"${SHARED}#/components/`)));
    compiled.set(schema, validate);
    return validate;
  };
};

const compilers = new WeakMap<Document, ReturnType<typeof createCompiler>>();

/**
 * Compares the body of a response with its schema in the OpenAPI document: types, formats, required fields, and fields
 * that the schema does not name. @returns one text per difference, beginning with its JSON pointer
 */
export const schemaFaults = (document: Document, { responses }: Call, { status, body }: Answer): string[] => {
  const schema = responses[status]?.content?.['application/json']?.schema;
  if (!schema || typeof body !== 'object') return [];
  const compile = compilers.get(document) ?? createCompiler(document);
  compilers.set(document, compile);
  const validate = compile(schema);
  const isValid = validate(body);
  const invalid = isValid ? [] : validate.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`);
  return [...invalid, ...undeclaredIn(document, schema, body, '').map((at) => `${at} is undeclared`)];
};
