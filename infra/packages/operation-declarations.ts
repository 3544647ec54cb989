import { type ApiDocument, targetsIn } from '../client/api-targets.ts';
import { commentOf, propertyOf, referenceName, type Schema, typeOf } from './schema-types.ts';

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;
type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
};
type Described = {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
};
export type OpenApi = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>>; readonly parameters: Readonly<Record<string, Parameter>> };
};

const GENERATED = '// Generated from the OpenAPI document.\n';

export const schemaDeclarations = ({ components }: OpenApi): string =>
  GENERATED +
  Object.entries(components.schemas)
    .map(([name, schema]) => `${commentOf(schema.description)}export type ${name} = ${typeOf(schema)};\n`)
    .join('');

export const importSchemas = ({ components }: OpenApi, text: string): string => {
  const words = new Set(text.match(/\b[A-Z]\w+\b/g));
  const used = Object.keys(components.schemas).filter((name) => words.has(name));
  return used.length === 0 ? '' : `import type { ${used.join(', ')} } from './schemas.js';\n`;
};

/** Clients may send booleans for the texts `true` and `false` of a query. */
const queryType = (schema: Schema): string => (schema.enum?.includes('true') ? `boolean | ${typeOf(schema)}` : typeOf(schema));

const parameterFields = ({ components }: OpenApi, { parameters = [] }: Described): string =>
  parameters
    .map((one) => ('$ref' in one ? components.parameters[referenceName(one.$ref)]! : one))
    .filter((one) => one.in !== 'header' && one.in !== 'cookie')
    .map(({ name, required = false, description, schema }) =>
      propertyOf(name, { ...schema, ...(description === undefined ? {} : { description }) }, required, queryType(schema)),
    )
    .join('');

/** A body that is a list is the field `items`. */
const bodyType = (document: OpenApi, { requestBody }: Described): string | null => {
  if (!requestBody) return null;
  const { content, required = false } = requestBody;
  const { schema = {} } = content['multipart/form-data'] ?? content['application/json'] ?? {};
  const resolved = schema.$ref === undefined ? schema : document.components.schemas[referenceName(schema.$ref)]!;
  const type = resolved.type === 'array' ? `{ items: ${typeOf(schema)} }` : typeOf(schema);
  if (type === 'Record<string, never>') return null;
  if (type === 'unknown') return 'Record<string, unknown>';
  return required ? type : `Partial<${type}>`;
};

const fieldsType = (document: OpenApi, operation: Described): string => {
  const fields = parameterFields(document, operation);
  const types = [fields === '' ? null : `{\n${fields}}`, bodyType(document, operation)].filter((type) => type !== null);
  return types.length === 0 ? 'object' : types.join(' & ');
};

const replyType = ({ responses }: Described): string => {
  const content = Object.entries(responses).flatMap(([status, { content = {} }]) => (status.startsWith('2') ? [content] : []));
  const schemas = content.flatMap((one) => one['application/json']?.schema ?? []);
  return [...new Set(schemas.map(typeOf))].join(' | ');
};

/** Returns the text of a declaration file that replaces `infra/client/operation-types.ts`. */
export const operationDeclarations = (document: OpenApi): string => {
  const targets = targetsIn(document as unknown as ApiDocument);
  const replies = { response: () => 'Response', nothing: () => 'null', json: replyType } as const;
  const operations = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .map((operation) => {
      const { operationId, summary, description } = operation;
      const reply = replies[targets.get(operationId)!.reply](operation);
      const comment = commentOf([summary, description].filter(Boolean).join('. '));
      return `${comment}${operationId}: { fields: ${fieldsType(document, operation)}; reply: ${reply} };\n`;
    });
  const text = `/** Every operation of the API: the fields that it takes, and its reply. */
export type Operations = {\n${operations.join('')}};
/** The id of an operation, as in the OpenAPI document. */
export type OperationName = keyof Operations;
/** The path parameters, query and body fields of an operation in one object. A body that is a list is the field \`items\`. */
export type Fields<Name extends OperationName> = Operations[Name]['fields'];
/** The reply of an operation; for files and streams, the response whose body the caller reads. */
export type Reply<Name extends OperationName> = Operations[Name]['reply'];
`;
  return GENERATED + importSchemas(document, text) + text;
};
