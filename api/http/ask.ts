import type { z } from 'zod';
import { expandPath } from './expand-path.ts';
import { isRead, type Operation, type Params } from './operation.ts';

/** A problem document (RFC 9457), as the API returns it. */
export type Problem = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly request_id: string;
  readonly errors?: readonly { readonly pointer: string; readonly message: string }[];
  /** The number of seconds after which the client can repeat the call. */
  readonly retry_after?: number;
};

/** A call of an operation and its duration, as the console shows them. */
export type Call = { readonly method: string; readonly path: string; readonly body?: string; readonly milliseconds: number };

type Outcome = {
  readonly status: number;
  readonly headers: Headers;
  /**
   * For a read, the log position up to which the data are complete. For a change, the position of the last event after
   * it.
   */
  readonly position: string | null;
  /** For how many seconds the log has had events that the answer to a read lacks; 0 if it is less than one second. */
  readonly behindSeconds: number;
  readonly etag: string | null;
  readonly call: Call;
};

/** The result of a call: the reply of the operation, or the problem with which it was refused. */
export type Answer<T> = Outcome & ({ readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem });

type Typed = Operation & { readonly path: string };
type Fields<T> = T extends z.ZodType ? (z.input<T> extends readonly unknown[] ? { readonly items: z.input<T> } : z.input<T>) : object;
type QueryOf<Row> = Row extends { readonly query?: infer Q } ? Fields<NonNullable<Q>> : object;
type BodyOf<Row> = Row extends { readonly body?: infer B } ? Fields<NonNullable<B>> : object;

/** The path parameters, query and body fields of an operation in one object, as clients send them. */
export type Sent<Row extends Typed> = { readonly [Name in Params<Row['path']>]: string } & QueryOf<Row> & BodyOf<Row>;

/** The type of the reply of an operation; null if it has none. */
export type ReplyOf<Row> = Row extends { readonly reply?: infer R }
  ? NonNullable<R> extends z.ZodType
    ? z.output<NonNullable<R>>
    : null
  : null;

export type AskOptions = { readonly headers?: Readonly<Record<string, string>> };

/**
 * Calls an operation. If the operation is refused, the promise is not rejected: it resolves to an answer with `ok:
 * false`.
 */
export type Ask = <Row extends Typed>(row: Row, sent: Sent<Row>, options?: AskOptions) => Promise<Answer<ReplyOf<Row>>>;

type Request = { readonly method: string; readonly path: string; readonly body?: string; readonly headers: Record<string, string> };

/** Sends a request to the API, either within this process or over the network. */
export type Send = (request: Request) => Promise<Response>;

const queryFieldsOf = ({ query }: Operation): readonly string[] => Object.keys((query as z.ZodObject | undefined)?.shape ?? {});

const queryText = (fields: readonly (readonly [string, unknown])[]): string => {
  const search = new URLSearchParams();
  for (const [name, value] of fields)
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== null) search.append(name, String(one));
  return search.size > 0 ? `?${search}` : '';
};

/** Splits the fields of a call into the path, the query and the JSON body of its request. */
export const requestOf = (row: Operation, sent: Readonly<Record<string, unknown>>): Omit<Request, 'headers'> => {
  const inPath = new Set([...row.path.matchAll(/:([a-z_]+)/g)].map(([, name]) => name!));
  const encoded = Object.fromEntries([...inPath].map((name) => [name, encodeURIComponent(String(sent[name] ?? ''))]));
  const rest = Object.entries(sent).filter(([name]) => !inPath.has(name));
  const inQuery = isRead(row) ? null : queryFieldsOf(row);
  const query = rest.filter(([name]) => inQuery === null || inQuery.includes(name));
  const path = `${expandPath(row.path, encoded, {})}${queryText(query)}`;
  const method = row.method.toUpperCase();
  if (isRead(row) || !row.body) return { method, path };
  const fields = Object.fromEntries(rest.filter(([name]) => !inQuery!.includes(name)));
  return { method, path, body: JSON.stringify('items' in fields ? fields.items : fields) };
};

const problemOf = async (response: Response): Promise<Problem> => {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  const text = await response.text();
  const known = /[/+]json\b/.test(response.headers.get('content-type') ?? '') ? (JSON.parse(text) as Problem) : null;
  const unknown = { type: '', title: 'The answer cannot be read', status: response.status, detail: '', code: 'internal', request_id: '' };
  return { ...(known ?? unknown), ...(retryAfter > 0 ? { retry_after: retryAfter } : {}) };
};

/** Creates the function that calls operations through `send`. After each answer, `onCall` gets the call. */
export const createAsk =
  (send: Send, onCall: (call: Call) => void = () => {}): Ask =>
  async (row, sent, { headers = {} } = {}) => {
    const request = requestOf(row, sent);
    const startedAt = performance.now();
    const response = await send({ ...request, headers: { ...headers, ...(request.body ? { 'content-type': 'application/json' } : {}) } });
    const call = { ...request, milliseconds: performance.now() - startedAt };
    onCall(call);
    const outcome = {
      status: response.status,
      headers: response.headers,
      position: response.headers.get('projection-position') ?? response.headers.get('consistency-token'),
      behindSeconds: Number(response.headers.get('projection-lag') ?? 0),
      etag: response.headers.get('etag'),
      call,
    };
    if (!response.ok) return { ...outcome, ok: false, problem: await problemOf(response) };
    const text = await response.text();
    return { ...outcome, ok: true, value: (text === '' ? null : JSON.parse(text)) as never };
  };
