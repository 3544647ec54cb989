import { z } from 'zod';
import { invalid } from '../domain/refusal.ts';

/** As the client has sent it. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A fault of a schema, or of a value that does not match it. `pointer`: to the wrong part. */
export type SchemaFault = { readonly pointer: string; readonly code: string; readonly message: string };

/**
 * For schemas that clients have written: draft 2020-12, or draft 7 if `$schema` says so. Limits the size of a schema and the time of a
 * check. `$ref` only within the schema; `format` is not checked; patterns have no look-around and no back references.
 */
export type JsonSchemaValidator = {
  readonly faultOfSchema: (schema: JsonObject) => SchemaFault | null;
  readonly faultOfValue: (schema: JsonObject, value: unknown) => SchemaFault | null;
};

/** The limit for a schema, and for a value that it describes, in characters of JSON text. */
export const MAX_JSON_LENGTH = 65_536;

const TOO_LONG = `must have at most ${MAX_JSON_LENGTH} characters as JSON`;

/** The limit for request bodies does not suffice: a number such as 1e20 is longer in the stored event than in the request. */
export const JsonObjectField = z
  .record(z.string(), z.unknown())
  .refine((value) => JSON.stringify(value).length <= MAX_JSON_LENGTH, { message: TOO_LONG, abort: true });

type WithSchemas = { readonly jsonSchemas: JsonSchemaValidator };

const refuse = (pointer: string, fault: SchemaFault | null): void => {
  if (fault) throw invalid(pointer + fault.pointer, fault.message, fault.code);
};

/** `pointer` is the place in the request. @throws Refusal invalid */
export const assertJsonSchema = ({ jsonSchemas }: WithSchemas, pointer: string, schema: JsonObject | null | undefined): void => {
  if (schema) refuse(pointer, jsonSchemas.faultOfSchema(schema));
};

/** `pointer` is the place in the request. @throws Refusal invalid */
export const assertMatches = ({ jsonSchemas }: WithSchemas, pointer: string, schema: JsonObject, value: unknown): void =>
  refuse(pointer, jsonSchemas.faultOfValue(schema, value));
