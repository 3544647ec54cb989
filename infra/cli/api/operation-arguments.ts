import { openAsBlob } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { usageError } from '../arguments.ts';
import type { ApiOperation, FieldSchema } from './api-document.ts';

export type ApiRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | FormData;
};

/** The options of the command itself. All other options are fields of the operation. */
export type ApiOptions = {
  readonly json: string | null;
  readonly all: boolean;
  readonly watch: boolean;
  readonly output: 'json' | 'table' | null;
  /** The fields that a table shows; null for those that people need first. */
  readonly columns: readonly string[] | null;
};

type Given = { readonly name: string; readonly value: string | null };

const OUTPUTS = ['json', 'table'] as const;
const OWN_OPTIONS = ['json', 'all', 'watch', 'output', 'columns'];
const OWN_FLAGS = ['all', 'watch'];

export const optionName = (name: string): string => name.toLowerCase().replaceAll('_', '-');

const typesOf = ({ type, anyOf = [] }: FieldSchema): readonly string[] => [...[type ?? []].flat(), ...anyOf.flatMap(typesOf)];
const hasType = (schema: FieldSchema, type: string): boolean => typesOf(schema).includes(type);
const itemsOf = ({ items, anyOf = [] }: FieldSchema): FieldSchema | undefined => items ?? anyOf.map(itemsOf).find((one) => one);
const isFile = (schema: FieldSchema): boolean => schema.format === 'binary';

const parsedJson = (option: string, text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw usageError(`--${option} must be JSON`);
  }
};

/** The text `null` becomes null if the field can be null. */
const convertText = (option: string, text: string, schema: FieldSchema): unknown => {
  if (text === 'null' && hasType(schema, 'null')) return null;
  if (hasType(schema, 'string')) return text;
  if (hasType(schema, 'boolean') && (text === 'true' || text === 'false')) return text === 'true';
  if (hasType(schema, 'number') || hasType(schema, 'integer')) {
    if (text.trim() === '' || !Number.isFinite(Number(text))) throw usageError(`--${option} must be a number`);
    return Number(text);
  }
  if (hasType(schema, 'boolean')) throw usageError(`--${option} must be true or false`);
  return parsedJson(option, text);
};

/** The values of a repeated option are the items of a list. */
const fieldValue = (option: string, texts: readonly string[], schema: FieldSchema): unknown => {
  const items = itemsOf(schema);
  const isWhole = texts.length === 1 && (/^\s*\[/.test(texts[0]!) || (texts[0] === 'null' && hasType(schema, 'null')));
  if (items && !isWhole) return texts.map((text) => convertText(option, text, items));
  if (texts.length > 1) throw usageError(`--${option} can be given only once`);
  return items && isWhole ? parsedJson(option, texts[0]!) : convertText(option, texts[0]!, schema);
};

const bodyFields = ({ body }: ApiOperation): Readonly<Record<string, FieldSchema>> => body?.schema.properties ?? {};

const optionsOf = (operation: ApiOperation): ReadonlyMap<string, FieldSchema> =>
  new Map([
    ...Object.entries(bodyFields(operation)).map(([name, schema]) => [optionName(name), schema] as const),
    ...operation.parameters.map(({ name, schema }) => [optionName(name), schema] as const),
  ]);

/** Creates the error for `--as-of` with an operation that has no such field. */
const withoutPast = ({ name, method }: ApiOperation): Error =>
  new Error(
    method === 'get'
      ? `${name} can only show the present: call it without --as-of`
      : `${name} makes a change, which cannot be made at an earlier time: call it without --as-of`,
  );

/** A boolean option needs no value. @throws a usage error */
const givenOptions = (words: readonly string[], operation: ApiOperation): readonly Given[] => {
  const fields = optionsOf(operation);
  const isFlag = (name: string): boolean =>
    (OWN_FLAGS.includes(name) && !fields.has(name)) || (fields.has(name) && typesOf(fields.get(name)!).every((type) => type === 'boolean'));
  const normalized = words.map((word) => word.replace(/^--[^=]+/, (name) => `--${optionName(name.slice(2))}`));
  const names = [...OWN_OPTIONS, ...fields.keys()];
  const options = Object.fromEntries(names.map((name) => [name, { type: isFlag(name) ? 'boolean' : 'string', multiple: true } as const]));
  const { tokens } = parseArgs({ args: normalized, options, strict: false, allowPositionals: true, tokens: true });
  return tokens.flatMap((token): Given[] => {
    if (token.kind === 'option-terminator') return [];
    if (token.kind === 'positional') throw usageError(`Unexpected argument ${token.value}`);
    if (token.name === 'as-of' && !names.includes(token.name)) throw withoutPast(operation);
    if (!names.includes(token.name)) throw usageError(`${operation.name} has no field ${token.rawName}`);
    if (token.value === undefined && !isFlag(token.name)) throw usageError(`--${token.name} needs a value`);
    return [{ name: token.name, value: token.value ?? null }];
  });
};

const ownOptions = (given: readonly Given[], isOwn: (name: string) => boolean): ApiOptions => {
  const last = (name: string): Given | undefined => (isOwn(name) ? given.findLast((one) => one.name === name) : undefined);
  const output = last('output')?.value ?? null;
  if (output !== null && !OUTPUTS.some((one) => one === output)) throw usageError(`--output must be ${OUTPUTS.join(' or ')}`);
  const columns = last('columns')?.value?.split(',') ?? null;
  if (columns?.includes('')) throw usageError('--columns must be names of fields, such as status,created_at,name');
  if (columns !== null && output === 'json') throw usageError('--columns is for tables: leave out --output json');
  return { json: last('json')?.value ?? null, all: !!last('all'), watch: !!last('watch'), output: output as ApiOptions['output'], columns };
};

/** @throws Error if it cannot be read */
const openFile = async (path: string): Promise<Blob> => {
  try {
    // It throws at once if there is no such file.
    return await openAsBlob(path);
  } catch {
    throw new Error(`${path} cannot be read`);
  }
};

/** For a field that holds a file, the given value is its path. @throws Error if a file cannot be read */
const formOf = async (fields: ReadonlyMap<string, readonly string[]>, operation: ApiOperation): Promise<FormData> => {
  const form = new FormData();
  for (const [name, texts] of fields)
    for (const text of texts) {
      const schema = bodyFields(operation)[name]!;
      if (!isFile(schema) && !(itemsOf(schema) && isFile(itemsOf(schema)!))) form.append(name, text);
      else {
        form.append(name, await openFile(text), basename(text));
      }
    }
  return form;
};

const jsonBody = (fields: ReadonlyMap<string, readonly string[]>, base: unknown, operation: ApiOperation): string | undefined => {
  const entries = [...fields].map(([name, texts]) => [name, fieldValue(optionName(name), texts, bodyFields(operation)[name]!)] as const);
  if (base === undefined && entries.length === 0 && !operation.body?.isRequired) return undefined;
  if (entries.length > 0 && base !== undefined && (typeof base !== 'object' || base === null || Array.isArray(base)))
    throw usageError(`The JSON is not an object, so --${optionName(entries[0]![0])} cannot be added to it`);
  return JSON.stringify(entries.length > 0 || base === undefined ? { ...(base as object), ...Object.fromEntries(entries) } : base);
};

/** `words` follow the name of the operation. `readJson` returns the text to which `--json` refers. @throws a usage error */
export const requestOf = async (
  operation: ApiOperation,
  words: readonly string[],
  readJson: (source: string) => Promise<string>,
): Promise<{ readonly request: ApiRequest; readonly options: ApiOptions }> => {
  const given = givenOptions(words, operation);
  const fields = optionsOf(operation);
  const options = ownOptions(given, (name) => !fields.has(name));
  const textsOf = (name: string): string[] => given.filter((one) => one.name === optionName(name)).map(({ value }) => value ?? 'true');
  const headers: Record<string, string> = {};
  const query = new URLSearchParams();
  let path = operation.path;
  for (const { name, in: place, required } of operation.parameters) {
    const texts = textsOf(name);
    if (texts.length === 0 && required) throw usageError(`${operation.name} needs --${optionName(name)}`);
    if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(texts.at(-1)!));
    for (const text of texts)
      if (place === 'query') query.append(name, text);
      else if (place === 'header') headers[name] = text;
  }
  const pathParameters = operation.parameters.filter((one) => one.in === 'path').map(({ name }) => name);
  const inBody = new Map(
    Object.keys(bodyFields(operation))
      .filter((name) => !pathParameters.includes(name))
      .map((name) => [name, textsOf(name)] as const)
      .filter(([, texts]) => texts.length > 0),
  );
  const target = { method: operation.method.toUpperCase(), path: query.size > 0 ? `${path}?${query}` : path };
  if (!operation.body) return { request: { ...target, headers }, options };
  if (operation.body.type === 'multipart/form-data')
    return { request: { ...target, headers, body: await formOf(inBody, operation) }, options };
  const base = options.json === null ? undefined : parsedJson('json', await readJson(options.json));
  const body = jsonBody(inBody, base, operation);
  if (body === undefined) return { request: { ...target, headers }, options };
  return { request: { ...target, headers: { ...headers, 'content-type': 'application/json' }, body }, options };
};
