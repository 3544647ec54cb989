import { z } from 'zod';
import { invalid } from '../domain/refusal.ts';

/** A JSON object from a client, unchanged. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * What is wrong with a JSON Schema, or with a value that does not match its schema. `pointer` is a JSON pointer to the
 * wrong part.
 */
export type SchemaFault = { readonly pointer: string; readonly code: string; readonly message: string };

/**
 * Checks values against JSON Schemas that clients have written. A schema is read as draft 2020-12, or as draft 7 if its
 * `$schema` says so. The size of a schema and the time to check a value are limited. `$ref` can only refer to a part of
 * the same schema, `format` is not checked, and patterns have no look-around and no back references.
 */
export type JsonSchemaValidator = {
  /** Returns the first fault of a schema; null if values can be checked against it. */
  readonly faultOfSchema: (schema: JsonObject) => SchemaFault | null;
  /** Returns the first reason why a value does not match a schema; null if it matches. */
  readonly faultOfValue: (schema: JsonObject, value: unknown) => SchemaFault | null;
};

/** The maximum length of a JSON Schema, and of a value that a schema describes, in characters of its JSON text. */
export const MAX_JSON_LENGTH = 65_536;

const TOO_LONG = `must have at most ${MAX_JSON_LENGTH} characters as JSON`;

/**
 * A schema for JSON objects of a limited length. The limit for request bodies does not suffice: a number such as 1e20
 * is longer in the stored event than in the request.
 */
export const JsonObjectField = z
  .record(z.string(), z.unknown())
  .refine((value) => JSON.stringify(value).length <= MAX_JSON_LENGTH, { message: TOO_LONG, abort: true });

/** The part of a context that this file needs. */
type WithSchemas = { readonly jsonSchemas: JsonSchemaValidator };

const refuse = (pointer: string, fault: SchemaFault | null): void => {
  if (fault) throw invalid(pointer + fault.pointer, fault.message, fault.code);
};

/** Checks the JSON Schema at `pointer` in the request. @throws Refusal invalid */
export const assertJsonSchema = (ctx: WithSchemas, pointer: string, schema: JsonObject | null | undefined): void => {
  if (schema) refuse(pointer, ctx.jsonSchemas.faultOfSchema(schema));
};

/** Checks the value at `pointer` in the request against a JSON Schema. @throws Refusal invalid */
export const assertMatches = (ctx: WithSchemas, pointer: string, schema: JsonObject, value: unknown): void =>
  refuse(pointer, ctx.jsonSchemas.faultOfValue(schema, value));
