import type { z } from 'zod';
import { parseForDisplay } from '../../domain/bodies/json-values.ts';
import type { Answer, Call, Problem } from './answer.ts';
import { expandPath } from './expand-path.ts';
import type { Operation, Params } from './operation.ts';

export type { Answer, Call, Problem } from './answer.ts';

/** The properties of an operation or of a plain route from which the types of a call are derived. */
export type Callable = { readonly path: string; readonly query?: unknown; readonly body?: unknown; readonly reply?: unknown };

/** The fields that a client sends. If the schema accepts any input and converts it, the type of its output is used. */
type InputFields<Input, Output> = {
  [Name in keyof Input]: unknown extends Input[Name] ? (Name extends keyof Output ? Output[Name] : unknown) : Input[Name];
};
type FieldsOf<Schema> = [Schema] extends [never]
  ? object
  : Schema extends z.ZodType
    ? z.input<Schema> extends readonly unknown[]
      ? { readonly items: z.input<Schema> }
      : z.input<Schema> extends Record<string, never>
        ? object
        : InputFields<z.input<Schema>, z.output<Schema>>
    : object;
/** In a query, a boolean can be sent for the texts `true` and `false`. */
type WithBooleans<Fields> = { [Name in keyof Fields]: 'true' extends Fields[Name] ? Fields[Name] | boolean : Fields[Name] };
type QueryOf<Row extends Callable> = WithBooleans<FieldsOf<NonNullable<Row['query']>>>;
type BodyOf<Row extends Callable> = FieldsOf<NonNullable<Row['body']>>;

/** The path parameters, query and body fields of an operation in one object, as clients send them. */
export type Sent<Row extends Callable> = { readonly [Name in Params<Row['path']>]: string } & QueryOf<Row> & BodyOf<Row>;

export type ReplyOf<Row> = Row extends { readonly reply?: infer R }
  ? [NonNullable<R>] extends [never]
    ? null
    : NonNullable<R> extends z.ZodType
      ? z.output<NonNullable<R>>
      : null
  : null;

/** A row of a table of operations, as far as it is needed to call the operation. */
type AskedRow = Callable & Pick<Operation, 'method' | 'summary'>;

export type AskOptions = { readonly headers?: Readonly<Record<string, string>> };

/**
 * Calls an operation. If the operation is refused, the promise still resolves, with an answer in which `ok` is false.
 */
export type Ask = <Row extends AskedRow>(row: Row, sent: Sent<Row>, options?: AskOptions) => Promise<Answer<ReplyOf<Row>>>;

type Request = { readonly method: string; readonly path: string; readonly body?: string; readonly headers: Record<string, string> };

/** Sends a request to the API, either within this process or over the network. */
export type Send = (request: Request) => Promise<Response>;

/** Says in which part of the request each field of a call is sent. */
export type Target = {
  readonly method: string;
  /** The path, in which a parameter is written as in `/tenant/:tenant_id`. */
  readonly path: string;
  /** The names of the query parameters; null if all fields that are not in the path belong to the query. */
  readonly query: readonly string[] | null;
  readonly hasBody: boolean;
};

export const pathFieldsOf = ({ path }: Pick<Target, 'path'>): readonly string[] =>
  [...path.matchAll(/:([a-z_]+)/g)].map(([, name]) => name!);

const targetOf = ({ method, path, query, body }: AskedRow): Target => ({
  method,
  path,
  query: method === 'get' ? null : Object.keys((query as z.ZodObject | undefined)?.shape ?? {}),
  hasBody: method !== 'get' && body !== undefined,
});

const queryText = (fields: readonly (readonly [string, unknown])[]): string => {
  const search = new URLSearchParams();
  for (const [name, value] of fields)
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== null) search.append(name, String(one));
  return search.size > 0 ? `?${search}` : '';
};

/**
 * Splits the fields of a call into the path with its query, and the fields of the body. If the operation has no body,
 * the latter are undefined.
 */
export const splitFields = (target: Target, sent: Readonly<Record<string, unknown>>): { readonly path: string; readonly body: unknown } => {
  const inPath = pathFieldsOf(target);
  const encoded = Object.fromEntries(inPath.map((name) => [name, encodeURIComponent(String(sent[name] ?? ''))]));
  const rest = Object.entries(sent).filter(([name]) => !inPath.includes(name));
  const inQuery = (name: string): boolean => target.query?.includes(name) ?? true;
  const path = `${expandPath(target.path, encoded, {})}${queryText(rest.filter(([name]) => inQuery(name)))}`;
  if (!target.hasBody) return { path, body: undefined };
  const fields = Object.fromEntries(rest.filter(([name]) => !inQuery(name)));
  return { path, body: 'items' in fields ? fields.items : fields };
};

/** Reads the problem document of a refused request. */
export const problemOf = async (response: Response): Promise<Problem> => {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  const text = await response.text();
  const known = /[/+]json\b/.test(response.headers.get('content-type') ?? '') ? (JSON.parse(text) as Problem) : null;
  const unknown = { type: '', title: 'The answer cannot be read', status: response.status, detail: '', code: 'internal', request_id: '' };
  return { ...(known ?? unknown), ...(retryAfter > 0 ? { retry_after: retryAfter } : {}) };
};

const readJson = async (response: Response): Promise<unknown> => {
  const text = await response.text();
  return text === '' ? null : parseForDisplay(text);
};

/** Returns the answer that a response contains. `read` reads the body of a successful response. */
export const answerOf = async <T>(
  response: Response,
  call: Call,
  read: (response: Response) => Promise<unknown> = readJson,
): Promise<Answer<T>> => {
  const outcome = {
    status: response.status,
    headers: response.headers,
    position: response.headers.get('projection-position') ?? response.headers.get('consistency-token'),
    behindSeconds: Number(response.headers.get('projection-lag') ?? 0),
    etag: response.headers.get('etag'),
    call,
  };
  if (response.status >= 400) return { ...outcome, ok: false, problem: await problemOf(response) };
  return { ...outcome, ok: true, value: (await read(response)) as T };
};

/**
 * Creates the function that calls operations by sending requests with `send`. After each answer, `onCall` is called
 * with the call.
 */
export const createAsk =
  (send: Send, onCall: (call: Call) => void = () => {}): Ask =>
  async (row, sent, { headers = {} } = {}) => {
    const target = targetOf(row);
    const { path, body } = splitFields(target, sent);
    const request = { method: target.method.toUpperCase(), path, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const startedAt = performance.now();
    const response = await send({ ...request, headers: { ...headers, ...(request.body ? { 'content-type': 'application/json' } : {}) } });
    const call = { ...request, headers, milliseconds: performance.now() - startedAt };
    onCall(call);
    return answerOf(response, call);
  };
