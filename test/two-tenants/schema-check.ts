import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Answer } from '../fixtures/test-platform.ts';
import { type Call, type Document, resolved, type Schema } from './id-positions.ts';

/** The fields of a value that its schema does not name, as JSON pointers. */
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

/** The name under which the validator knows the schemas that several operations share. */
const SHARED = 'shared';

/** Returns the validator of a schema in the OpenAPI document. Each is compiled once. */
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
 * that the schema does not name. Returns one text for each difference, which starts with its JSON pointer.
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
