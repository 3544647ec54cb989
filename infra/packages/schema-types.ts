export type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly description?: string;
  readonly format?: string;
};

/** Keywords that restrict a value without changing its TypeScript type. */
const WITHOUT_TYPE = [
  ...['$schema', 'id', 'title', 'description', 'default', 'examples', 'format', 'pattern', 'contentEncoding', 'propertyNames'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength', 'minItems', 'maxItems'],
];
const WITH_TYPE = ['$ref', 'type', 'const', 'enum', 'anyOf', 'items', 'properties', 'required', 'additionalProperties'];

const SIMPLE: Readonly<Record<string, string>> = { integer: 'number', number: 'number', boolean: 'boolean', null: 'null' };

const literal = (value: unknown): string => JSON.stringify(value);

const union = (members: readonly string[]): string => [...new Set(members)].join(' | ');

const itemType = (type: string): string => (/^[\w.]+$/.test(type) ? `${type}[]` : `Array<${type}>`);

/** Returns a text as a comment of TypeScript on lines of its own; an empty text if there is none. */
export const commentOf = (text: string | undefined): string =>
  text ? `/** ${text.replaceAll('*/', '*\\/').replace(/\s*\n\s*/g, ' ')} */\n` : '';

/** The value of an optional property may be undefined, also under `exactOptionalPropertyTypes`. */
export const propertyOf = (name: string, schema: Schema, isRequired: boolean, type: string = typeOf(schema)): string =>
  `${commentOf(schema.description)}${/^\w+$/.test(name) ? name : literal(name)}${isRequired ? '' : '?'}: ${type}${isRequired ? '' : ' | undefined'};\n`;

const objectType = ({ properties = {}, required = [], additionalProperties = true }: Schema): string => {
  const fields = Object.entries(properties).map(([name, schema]) => propertyOf(name, schema, required.includes(name)));
  const other = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown';
  if (fields.length === 0) return additionalProperties === false ? 'Record<string, never>' : `Record<string, ${other}>`;
  return `{\n${fields.join('')}}`;
};

const typeNamed = (name: string, schema: Schema): string => {
  if (name === 'object') return objectType(schema);
  if (name === 'array') return itemType(typeOf(schema.items ?? {}));
  if (name === 'string') return schema.format === 'binary' ? 'Blob' : 'string';
  return SIMPLE[name] ?? fail(`the type ${name}`);
};

const fail = (what: string): never => {
  throw new Error(`${what} of the OpenAPI document has no TypeScript type: add it to infra/packages/schema-types.ts`);
};

/** Returns the name of the schema that a reference names, as in `#/components/schemas/AgentRead`. */
export const referenceName = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);

/** @throws Error if the schema has an unknown keyword */
export const typeOf = (schema: Schema): string => {
  const unknown = Object.keys(schema).find((key) => !WITHOUT_TYPE.includes(key) && !WITH_TYPE.includes(key));
  if (unknown) return fail(`the keyword ${unknown}`);
  if (schema.$ref !== undefined) return referenceName(schema.$ref);
  if ('const' in schema) return literal(schema.const);
  if (schema.enum) return union(schema.enum.map(literal));
  if (schema.anyOf) return union(schema.anyOf.map(typeOf));
  if (schema.type === undefined) return 'unknown';
  return union([schema.type].flat().map((name) => typeNamed(name, schema)));
};
