import fc from 'fast-check';

export type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
};
export type Schemas = Readonly<Record<string, Schema>>;

const resolved = (schema: Schema, schemas: Schemas): Schema => {
  if (!schema.$ref) return schema;
  const found = schemas[schema.$ref.replace('#/components/schemas/', '')];
  if (!found) throw new Error(`${schema.$ref} leads nowhere`);
  return resolved(found, schemas);
};

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
};

const isOfType = (schema: Schema, value: unknown): boolean => {
  const types = [schema.type ?? []].flat();
  const type = typeOf(value);
  return types.length === 0 || types.includes(type) || (type === 'integer' && types.includes('number'));
};

const inString = ({ minLength = 0, maxLength = Infinity, pattern }: Schema, value: string, at: string): string[] => [
  ...([...value].length < minLength || [...value].length > maxLength ? [`${at}: its length is ${[...value].length}`] : []),
  ...(pattern !== undefined && !new RegExp(pattern, 'u').test(value) ? [`${at}: ${value} is not like ${pattern}`] : []),
];

const inNumber = ({ minimum = -Infinity, maximum = Infinity }: Schema, value: number, at: string): string[] =>
  value < minimum || value > maximum ? [`${at}: ${value} is out of bounds`] : [];

const inArray = ({ items = {}, minItems = 0, maxItems = Infinity }: Schema, value: unknown[], schemas: Schemas, at: string): string[] => [
  ...(value.length < minItems || value.length > maxItems ? [`${at}: it has ${value.length} items`] : []),
  ...value.flatMap((item, index) => faults(items, item, schemas, `${at}/${index}`)),
];

const inObject = (schema: Schema, value: Record<string, unknown>, schemas: Schemas, at: string): string[] => {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  return [
    ...required.filter((name) => !(name in value)).map((name) => `${at}/${name}: is missing`),
    ...Object.entries(value).flatMap(([name, one]) => {
      const known = properties[name] ?? (additionalProperties === true ? {} : additionalProperties);
      return known === false ? [`${at}/${name}: is not in the schema`] : faults(known, one, schemas, `${at}/${name}`);
    }),
  ];
};

/** What of a value is not as its JSON Schema says; as much of 2020-12 as the document uses. */
export const faults = (given: Schema, value: unknown, schemas: Schemas, at = ''): string[] => {
  const schema = resolved(given, schemas);
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return options.some((one) => faults(one, value, schemas).length === 0) ? [] : [`${at}: fits none of ${options.length}`];
  const all = (schema.allOf ?? []).flatMap((one) => faults(one, value, schemas, at));
  if (schema.enum && !schema.enum.includes(value)) return [...all, `${at}: ${JSON.stringify(value)} is none of ${schema.enum.join(' ')}`];
  if ('const' in schema && schema.const !== value) return [...all, `${at}: is not ${JSON.stringify(schema.const)}`];
  if (!isOfType(schema, value)) return [...all, `${at}: is ${typeOf(value)}, not ${schema.type}`];
  if (typeof value === 'string') return [...all, ...inString(schema, value, at)];
  if (typeof value === 'number') return [...all, ...inNumber(schema, value, at)];
  if (Array.isArray(value)) return [...all, ...inArray(schema, value, schemas, at)];
  if (value !== null && typeof value === 'object') return [...all, ...inObject(schema, value as Record<string, unknown>, schemas, at)];
  return all;
};

/** Values by the name of their field: ids of what is there. */
export type Named = (name: string) => fc.Arbitrary<unknown> | undefined;

const LATER = { min: new Date('2030-01-01T00:00:00Z'), max: new Date('2090-01-01T00:00:00Z'), noInvalidDate: true };

const texts = ({ minLength = 0, maxLength = 40, pattern, format }: Schema): fc.Arbitrary<string> => {
  if (format === 'email') return fc.stringMatching(/^[a-z][a-z0-9]{0,12}$/).map((name) => `${name}@example.com`);
  if (format === 'date-time') return fc.date(LATER).map((date) => date.toISOString());
  if (pattern) return fc.stringMatching(new RegExp(pattern));
  const bounds = { minLength, maxLength: Math.min(maxLength, Math.max(minLength, 40)) };
  return fc.string({ unit: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((unit) => unit !== '\0'), ...bounds });
};

const objects = (schema: Schema, schemas: Schemas, named: Named): fc.Arbitrary<unknown> => {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  if (Object.keys(properties).length === 0 && additionalProperties !== false)
    return fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.boolean()), {
      maxKeys: 3,
    });
  const fields = Object.entries(properties).map(([name, one]) => [name, named(name) ?? valuesOf(one, schemas, named)] as const);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [...required] });
};

/** Values that fit a JSON Schema. */
export const valuesOf = (given: Schema, schemas: Schemas, named: Named = () => undefined): fc.Arbitrary<unknown> => {
  const schema = resolved(given, schemas);
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return fc.oneof(...options.map((one) => valuesOf(one, schemas, named)));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if ('const' in schema) return fc.constant(schema.const);
  const { minimum = -1_000, maximum = 1_000_000, minItems = 0, maxItems = 5 } = schema;
  switch ([schema.type].flat()[0]) {
    case 'string':
      return texts(schema);
    case 'integer':
      return fc.integer({ min: Math.max(minimum, -2_147_483_647), max: Math.min(maximum, 2_147_483_647) });
    case 'number':
      return fc.integer({ min: Math.ceil(minimum) * 100, max: Math.min(maximum, 1_000) * 100 }).map((cents) => cents / 100);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}, schemas, named), { minLength: minItems, maxLength: Math.min(maxItems, 5) });
    case 'object':
      return objects(schema, schemas, named);
    default:
      return fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.boolean(), fc.constant(null));
  }
};

/** The objects in a schema that take fields that they do not name, as pointers; `path` keeps a schema that holds itself from going on for ever. */
export const openIn = (schema: Schema, schemas: Schemas, at: string, path: readonly Schema[] = []): string[] => {
  const { $ref, type, properties = {}, additionalProperties, items, anyOf = [] } = schema;
  if (path.includes(schema)) return [];
  const inner = (one: Schema, name: string) => openIn(one, schemas, `${at}/${name}`, [...path, schema]);
  if ($ref) return inner(schemas[$ref.split('/').at(-1)!]!, '');
  const isOpen = type === 'object' && schema.properties !== undefined && additionalProperties !== false;
  return [
    ...(isOpen ? [at] : []),
    ...Object.entries(properties).flatMap(([name, one]) => inner(one, name)),
    ...(items ? inner(items, '-') : []),
    ...anyOf.flatMap((one) => inner(one, '')),
  ];
};
