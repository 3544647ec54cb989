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

/** The fields of a response body that the OpenAPI document does not name, as JSON pointers. */
export const undeclaredFields = (document: Document, { responses }: Call, { status, body }: Answer): string[] => {
  const schema = responses[status]?.content?.['application/json']?.schema;
  return schema && typeof body === 'object' ? undeclaredIn(document, schema, body, '') : [];
};
