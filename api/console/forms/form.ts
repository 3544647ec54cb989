import { z } from 'zod';
import type { Operation } from '../../http/operation.ts';
import { SECRET_NAMES } from '../secret-names.ts';
import type { FieldLook, FormLayout } from './form-layout.ts';
import { helpFor, isForPeople, labelOf } from './form-words.ts';
import { kindOfOption } from './row-words.ts';

type Json = Readonly<Record<string, unknown>>;

/** What a number counts. */
export type Unit = 'usd' | 'ms' | 'seconds' | 'minutes' | 'hours' | 'days' | 'bytes';

/**
 * The kinds of fields. `json` accepts any JSON; it is used if the schema does not describe the value's fields.
 * Among the texts, `time` is a time with its date, and `bytes` are base64 in the request and text in the form.
 */
type Kind =
  | { readonly kind: 'text'; readonly input: 'text' | 'email' | 'date' | 'time' | 'password' | 'area' | 'bytes' }
  | { readonly kind: 'number'; readonly isInteger: boolean; readonly unit: Unit | null }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'choice'; readonly options: readonly string[] }
  | { readonly kind: 'choices'; readonly options: readonly string[] }
  | { readonly kind: 'lines'; readonly item: Field }
  | { readonly kind: 'rows'; readonly item: Field }
  | { readonly kind: 'group'; readonly fields: readonly Field[] }
  | { readonly kind: 'json' };

/** A field of a form. It is derived from the schema of the corresponding field in the request. */
export type Field = Kind & {
  /** The JSON pointer of the field in the body. In a list item, the pointer is relative to the item. */
  readonly pointer: string;
  readonly name: string;
  readonly label: string;
  readonly help: string | null;
  readonly isRequired: boolean;
  readonly isNullable: boolean;
  /** Whether the field can contain a secret. The form then never shows a stored value. */
  readonly isSecret: boolean;
  /** The value that the API uses if the request does not contain the field. */
  readonly fallback: unknown;
  readonly placeholder: string | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly pattern: string | null;
  /** How the layout of the form shows the field. */
  readonly look: FieldLook;
};

/** The form of an operation: the names of its path parameters, and the fields of its query and its body. */
export type Form = {
  readonly path: readonly string[];
  readonly query: readonly Field[];
  readonly body: Field | null;
  /** Null if the form shows its fields in the order of the schema. */
  readonly layout: FormLayout | null;
};

/** Text fields whose maximum length is greater than this are shown with several lines. */
const MAX_LINE = 255;
/** Fields that contain an object, and that are stored encrypted. */
const SECRET_OBJECTS = new Set(['AgentSkillConfigUpdate/config']);

/** Escapes a name for use in a JSON pointer. */
export const escapedName = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

type Place = { readonly pointer: string; readonly name: string; readonly isRequired: boolean; readonly owner: string };

const withoutNull = (schema: Json): { readonly schema: Json; readonly isNullable: boolean } => {
  const { type, anyOf } = schema;
  if (Array.isArray(type) && type.includes('null'))
    return { schema: { ...schema, type: type.find((one) => one !== 'null') }, isNullable: true };
  if (!Array.isArray(anyOf)) return { schema, isNullable: false };
  const forms = (anyOf as Json[]).filter((one) => one.type !== 'null');
  const { anyOf: _, ...outer } = schema;
  return { schema: forms.length === 1 ? { ...forms[0], ...outer } : outer, isNullable: forms.length < anyOf.length };
};

const valuesOf = ({ enum: values, const: only }: Json): readonly string[] | null => {
  const all = values ?? (only === undefined ? undefined : [only]);
  return Array.isArray(all) && all.every((one) => typeof one === 'string') ? all : null;
};

const textKind = (schema: Json, isSecret: boolean): Kind => {
  if (isSecret) return { kind: 'text', input: 'password' };
  if (schema.format === 'email') return { kind: 'text', input: 'email' };
  if (schema.format === 'date') return { kind: 'text', input: 'date' };
  if (schema.format === 'date-time') return { kind: 'text', input: 'time' };
  if (schema.format === 'base64' || schema.contentEncoding === 'base64') return { kind: 'text', input: 'bytes' };
  if (schema.format === 'uri') return { kind: 'text', input: 'text' };
  const isShort = typeof schema.maxLength === 'number' ? schema.maxLength <= MAX_LINE : schema.pattern !== undefined;
  return { kind: 'text', input: isShort ? 'text' : 'area' };
};

const numberOr = (value: unknown): number | null => (typeof value === 'number' && Number.isSafeInteger(Math.trunc(value)) ? value : null);

const unitOf = (name: string): Unit | null => (/_(usd|ms|seconds|minutes|hours|days|bytes)$/.exec(name)?.[1] as Unit | undefined) ?? null;

/** Whether a schema allows any JSON value or object, without describing its fields. */
const isOpen = ({ type, properties }: Json): boolean => type === undefined || (type === 'object' && properties === undefined);

const kindOf = (schema: Json, place: Place, resolve: (schema: Json) => Json): Kind => {
  const isSecret = SECRET_NAMES.has(place.name);
  const options = valuesOf(schema);
  if (options) return { kind: 'choice', options };
  if (isOpen(schema)) return { kind: 'json' };
  switch (schema.type) {
    case 'string':
      return textKind(schema, isSecret);
    case 'integer':
    case 'number':
      return { kind: 'number', isInteger: schema.type === 'integer', unit: unitOf(place.name) };
    case 'boolean':
      return { kind: 'boolean' };
    case 'array': {
      const item = fieldOf(schema.items as Json, { pointer: '', name: place.name, isRequired: true, owner: '' }, resolve);
      if (item.kind === 'choice') return { kind: 'choices', options: item.options };
      if (item.kind === 'group') return { kind: 'rows', item };
      return item.kind === 'text' || item.kind === 'number' ? { kind: 'lines', item } : { kind: 'json' };
    }
    case 'object': {
      const { properties, required = [] } = schema as { properties: Readonly<Record<string, Json>>; required?: readonly string[] };
      const within = (name: string): Place => ({
        pointer: `${place.pointer}/${escapedName(name)}`,
        name,
        isRequired: required.includes(name),
        owner: String(schema.id ?? ''),
      });
      return { kind: 'group', fields: Object.entries(properties).map(([name, one]) => withKinds(fieldOf(one, within(name), resolve))) };
    }
    default:
      return { kind: 'json' };
  }
};

const fieldOf = (reference: Json, place: Place, resolve: (schema: Json) => Json): Field => {
  const outer = resolve(reference);
  const { schema: bare, isNullable } = withoutNull(outer);
  const schema = resolve(bare);
  const { examples, default: fallback, description } = { ...schema, ...outer } as Json & { examples?: readonly unknown[] };
  const example = examples?.find((one) => typeof one === 'string' || typeof one === 'number');
  return {
    ...kindOf(schema, place, resolve),
    pointer: place.pointer,
    name: place.name,
    label: labelOf(place.name),
    help: helpFor(place.name, description),
    isRequired: place.isRequired,
    isNullable,
    isSecret: SECRET_NAMES.has(place.name) || SECRET_OBJECTS.has(`${place.owner}/${place.name}`),
    fallback,
    placeholder: example !== undefined && isForPeople(String(example)) ? String(example) : null,
    min: numberOr(schema.minimum ?? schema.minLength ?? schema.minItems),
    max: numberOr(schema.maximum ?? schema.maxLength ?? schema.maxItems),
    pattern: typeof schema.pattern === 'string' && schema.format === undefined ? schema.pattern : null,
    look: {},
  };
};

/** Marks the options of a guardrail rule with the kind of rule that has them. */
const withKinds = (field: Field): Field =>
  field.kind === 'group' && field.name === 'options' && field.fields.some(({ name }) => name === 'detectors')
    ? { ...field, fields: field.fields.map((one) => ({ ...one, look: { ...one.look, ofKind: kindOfOption(one.name) ?? '' } })) }
    : field;

const fieldOfSchema = (schema: z.ZodType): Field => {
  const { $defs = {}, properties } = z.toJSONSchema(z.object({ it: schema }), { io: 'input', unrepresentable: 'any' }) as unknown as {
    $defs?: Readonly<Record<string, Json>>;
    properties: { it: Json };
  };
  const resolve = (one: Json): Json => {
    const { $ref, ...rest } = one;
    return typeof $ref === 'string' ? { ...$defs[$ref.replace('#/$defs/', '')], ...rest } : one;
  };
  return fieldOf(properties.it, { pointer: '', name: '', isRequired: true, owner: '' }, resolve);
};

const derive = ({ path, query, body }: Operation): Form => {
  const ofQuery = query ? fieldOfSchema(query) : null;
  return {
    path: [...path.matchAll(/:([a-z_]+)/g)].map(([, name]) => name!),
    query: ofQuery?.kind === 'group' ? ofQuery.fields : [],
    body: body ? fieldOfSchema(body) : null,
    layout: null,
  };
};

const derived = new WeakMap<Operation, Form>();

/** Derives the form of an operation from its path, its query and the schema of its body. */
export const formOf = (row: Operation): Form => {
  const known = derived.get(row) ?? derive(row);
  derived.set(row, known);
  return known;
};

/** Returns the top-level fields of a body. For a body that is a list, this is one field. */
export const topFields = ({ body }: Form): readonly Field[] => {
  if (!body) return [];
  return body.kind === 'group' ? body.fields : [body];
};
