type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly description?: string;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
};
type Parameter = { readonly $ref?: string; readonly name: string; readonly in: string; readonly required?: boolean } & {
  readonly description?: string;
  readonly schema?: Schema;
};
type Described = {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<
    Record<string, { readonly description?: string; readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> }>
  >;
};

/** The parts of an OpenAPI document from which the texts are made. */
export type ApiDocument = {
  readonly info: { readonly title: string; readonly summary: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>>; readonly parameters: Readonly<Record<string, Parameter>> };
};

type Row = Described & { readonly call: string };

const rowsOf = ({ paths }: ApiDocument): readonly Row[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ ...described, call: `${method.toUpperCase()} ${path}` })),
  );

/** Returns the operations below each heading, in the order of the document. */
const areasOf = (
  document: ApiDocument,
): readonly { readonly name: string; readonly description: string; readonly rows: readonly Row[] }[] => {
  const rows = rowsOf(document);
  return document.tags
    .map((tag) => ({ ...tag, rows: rows.filter(({ tags }) => tags.includes(tag.name)) }))
    .filter((area) => area.rows.length > 0);
};

/**
 * Returns a function that computes the text of a document only once. The text is cached as long as the document exists.
 */
const cached = (textOf: (document: ApiDocument) => string): ((document: ApiDocument) => string) => {
  const texts = new WeakMap<ApiDocument, string>();
  return (document) => {
    const text = texts.get(document) ?? textOf(document);
    texts.set(document, text);
    return text;
  };
};

/**
 * Returns the text for /llms.txt (see llmstxt.org). It says what the platform is and where its documents are, and has
 * one line for each operation.
 */
export const llmsText = cached((document) => {
  const { info, servers } = document;
  const url = servers[0]!.url;
  const areas = areasOf(document).map(({ name, description, rows }) => {
    const lines = rows.map(
      ({ operationId, call, summary }) => `- [${operationId}](${url}/docs.md#${operationId.toLowerCase()}): ${call}. ${summary}`,
    );
    return `## ${name}\n\n${description}\n\n${lines.join('\n')}\n`;
  });
  return [
    `# ${info.title}\n\n> ${info.summary}\n`,
    `## Documents\n`,
    `- [Guides](${url}/guides): how to use and operate the platform; \`.md\` after the address of one gives its Markdown`,
    `- [API reference](${url}/docs.md): every operation with its fields, in Markdown`,
    `- [OpenAPI](${url}/openapi.json): the REST API for programs`,
    `- [AsyncAPI](${url}/asyncapi.json): the messages to runners\n`,
    ...areas,
  ].join('\n');
});

const nameOf = (ref: string): string => ref.split('/').at(-1)!;

/** Returns the type of a field in a few words, such as `string | null` or `list of GuardrailRule`. */
const typeText = (schema: Schema): string => {
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeText))].join(' | ');
  if (schema.items) return `list of ${typeText(schema.items)}`;
  const type = [schema.type ?? 'any'].flat().join(' | ');
  return schema.format ? `${type} (${schema.format})` : type;
};

/** Formats a text as a cell of a Markdown table: line breaks become spaces, and `|` is escaped. */
const cell = (text: string): string => text.replace(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');

const fieldRow = (name: string, place: string, schema: Schema, isRequired: boolean, description = schema.description ?? ''): string =>
  `| \`${name}\` | ${place} | ${cell(typeText(schema))}${isRequired ? ', required' : ''} | ${cell(description)} |`;

const propertyRows = (schema: Schema, place: string): readonly string[] =>
  Object.entries(schema.properties ?? {}).map(([name, field]) => fieldRow(name, place, field, schema.required?.includes(name) ?? false));

const operationText = (
  { operationId, call, summary, description, parameters = [], requestBody, responses }: Row,
  { components }: ApiDocument,
): string => {
  const resolved = parameters.map((one) => (one.$ref ? components.parameters[nameOf(one.$ref)]! : one));
  const inParameters = resolved.map(({ name, in: place, schema = {}, required = false, description: text }) =>
    fieldRow(name, place, schema, required, text),
  );
  const [body] = Object.values(requestBody?.content ?? {});
  const bodySchema = body?.schema.$ref ? components.schemas[nameOf(body.schema.$ref)]! : (body?.schema ?? {});
  const fields = [...inParameters, ...propertyRows(bodySchema, 'body')];
  const table = fields.length > 0 ? `\n| field | in | type | description |\n|---|---|---|---|\n${fields.join('\n')}\n` : '';
  const listBody = body && !bodySchema.properties ? `\nThe body is ${typeText(bodySchema)}.\n` : '';
  const success = Object.entries(responses).filter(([status]) => Number(status) < 300);
  const replies = success.map(([status, { content = {} }]) => {
    const [reply] = Object.values(content);
    return `${status}${reply?.schema ? ` with ${typeText(reply.schema)}` : ''}`;
  });
  return `### ${operationId}\n\n\`${call}\`\n\n${summary}.${description ? ` ${description}` : ''}\n${table}${listBody}\nResponse: ${replies.join(' or ')}.\n`;
};

const schemaText = (name: string, schema: Schema): string => {
  const rows = Object.entries(schema.properties ?? {}).map(
    ([field, { description = '', ...type }]) =>
      `| \`${field}\` | ${cell(typeText(type))}${schema.required?.includes(field) ? '' : ', optional'} | ${cell(description)} |`,
  );
  const table = rows.length > 0 ? `| field | type | description |\n|---|---|---|\n${rows.join('\n')}\n` : `${typeText(schema)}\n`;
  return `### ${name}\n\n${schema.description ? `${schema.description}\n\n` : ''}${table}`;
};

/** Returns the text for /docs.md. It is the API reference in Markdown, with all operations and schemas. */
export const markdownDocs = cached((document) => {
  const { info, components } = document;
  const areas = areasOf(document).map(
    ({ name, description, rows }) => `## ${name}\n\n${description}\n\n${rows.map((row) => operationText(row, document)).join('\n')}`,
  );
  const schemas = Object.entries(components.schemas).map(([name, schema]) => schemaText(name, schema));
  return [`# ${info.title}\n\n${info.summary}\n`, info.description, ...areas, '## Schemas\n', ...schemas].join('\n');
});
