import { z } from 'zod';

const RESPONSE_TIMEOUT_MS = 30_000;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** The part of a JSON schema that the command line uses. */
export type FieldSchema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly contentEncoding?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly description?: string;
  readonly anyOf?: readonly FieldSchema[];
  readonly items?: FieldSchema;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
};

const Parameter = z.object({
  name: z.string(),
  in: z.enum(['path', 'query', 'header', 'cookie']),
  required: z.boolean().default(false),
  description: z.string().default(''),
  schema: z.custom<FieldSchema>((value) => typeof value === 'object').default({}),
});
export type Parameter = z.output<typeof Parameter>;

const Document = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
  components: z.object({
    parameters: z.record(z.string(), z.unknown()).default({}),
    schemas: z.record(z.string(), z.unknown()).default({}),
  }),
});

const Entry = z.object({
  operationId: z.string(),
  summary: z.string().default(''),
  description: z.string().default(''),
  parameters: z.array(z.unknown()).default([]),
  requestBody: z
    .object({ required: z.boolean().default(false), content: z.record(z.string(), z.object({ schema: z.custom<FieldSchema>() })) })
    .optional(),
});

export type ApiOperation = {
  readonly name: string;
  readonly method: (typeof METHODS)[number];
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  /** Null if the operation has none. */
  readonly body: { readonly type: string; readonly schema: FieldSchema; readonly isRequired: boolean } | null;
};

type Resolve = (value: unknown) => unknown;

const resolverOf =
  (components: Readonly<Record<string, Readonly<Record<string, unknown>>>>): Resolve =>
  (value) => {
    const [, kind, name] = /^#\/components\/(\w+)\/(.+)$/.exec((value as FieldSchema | null)?.$ref ?? '') ?? [];
    return kind && name ? (components[kind]?.[name] ?? {}) : value;
  };

/** Resolves the schema of a field, and the schemas of its items and properties one level down. */
const resolvedSchema = (schema: FieldSchema, resolve: Resolve, depth = 2): FieldSchema => {
  const own = resolve(schema) as FieldSchema;
  if (depth === 0) return own;
  const inner = (one: FieldSchema): FieldSchema => resolvedSchema(one, resolve, depth - 1);
  return {
    ...own,
    ...(own.anyOf && { anyOf: own.anyOf.map(inner) }),
    ...(own.items && { items: inner(own.items) }),
    ...(own.properties && { properties: Object.fromEntries(Object.entries(own.properties).map(([name, one]) => [name, inner(one)])) }),
  };
};

const operationOf = (path: string, method: ApiOperation['method'], value: unknown, resolve: Resolve): ApiOperation => {
  const { operationId, summary, description, parameters, requestBody } = Entry.parse(value);
  const [body] = Object.entries(requestBody?.content ?? {});
  return {
    name: operationId,
    method,
    path,
    summary,
    description,
    parameters: parameters.map((each) => Parameter.parse(resolve(each))),
    body: body ? { type: body[0], schema: resolvedSchema(body[1].schema, resolve, 4), isRequired: requestBody!.required } : null,
  };
};

/** Returns the operations in the order of the document. @throws ZodError if the value is not an OpenAPI document */
export const operationsIn = (json: unknown): readonly ApiOperation[] => {
  const { paths, components } = Document.parse(json);
  const resolve = resolverOf(components);
  return Object.entries(paths).flatMap(([path, entries]) =>
    METHODS.filter((method) => entries[method]).map((method) => operationOf(path, method, entries[method], resolve)),
  );
};

/**
 * Reads the operations from the OpenAPI document of a running platform, so that they match the platform's version.
 * @throws Error with a one-line message for the operator if the platform does not answer or its document cannot be read
 */
export const readOperations = async (url: string): Promise<readonly ApiOperation[]> => {
  const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
  const response = await fetch(`${url}/openapi.json`, { redirect: 'error', signal }).catch(({ message, cause }) => {
    throw new Error(`${url} does not answer: ${cause?.code ?? message}`);
  });
  const json: unknown = response.ok ? await response.json().catch(() => null) : null;
  try {
    return operationsIn(json);
  } catch {
    throw new Error(`${url}/openapi.json is not the API of Annals (status ${response.status})`);
  }
};
