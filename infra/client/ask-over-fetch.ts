import { type Answer, answerOf, splitFields } from '../../api/http/ask.ts';
import { comparePositions, parseToken } from '../../domain/event.ts';
import type { ApiTarget } from './api-targets.ts';
import type { FetchOptions, Outgoing } from './fetch-response.ts';
import { sendWithRetries } from './send-with-retries.ts';
import type { CallOptions, ClientOptions } from './typed-client.ts';

export const TIMEOUT_MS = 30_000;
const TRANSFER_TIMEOUT_MS = 120_000;
export const RETRIES = 4;

const formOf = (fields: object): FormData => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (value instanceof Blob) form.append(name, value);
    else if (value !== undefined && value !== null) form.append(name, String(value));
  return form;
};

const bodyOf = ({ isForm }: ApiTarget, fields: unknown): string | FormData | undefined => {
  if (fields === undefined) return undefined;
  return isForm ? formOf(fields as object) : JSON.stringify(fields);
};

export const createLastToken = () => {
  let last: string | null = null;
  return {
    read: () => last,
    advance: (token: string | null): void => {
      const [known, position] = [parseToken(last ?? ''), parseToken(token ?? '')];
      if (position && (!known || comparePositions(position, known) > 0)) last = token;
    },
  };
};

export type Shared = {
  readonly targets: () => Promise<ReadonlyMap<string, ApiTarget>>;
  readonly send: (request: Outgoing, options: Omit<FetchOptions, 'fetch'>) => Promise<Response>;
  readonly token: ReturnType<typeof createLastToken>;
  readonly url: string;
  readonly options: ClientOptions;
  readonly asOf: string | null;
};

export type AnySent = Readonly<Record<string, unknown>>;

const targetNamed = async ({ targets, url, asOf }: Shared, name: string): Promise<ApiTarget> => {
  const target = (await targets()).get(name);
  if (!target) throw new Error(`The platform at ${url} has no operation ${name}: it may be of another version`);
  if (asOf !== null && !target.takesAsOf) throw new Error(`${name} cannot be called at an earlier time`);
  return target;
};

type Prepared = { readonly target: ApiTarget; readonly call: CallOptions; readonly isJson: boolean; readonly retries: number };

const headersOf = ({ token, options, asOf }: Shared, { target, call, isJson, retries }: Prepared): Record<string, string> => {
  const key = call.idempotencyKey ?? (target.takesKey && retries > 0 ? crypto.randomUUID() : undefined);
  const last = target.takesToken && asOf === null ? token.read() : null;
  return {
    ...(options.key ? { authorization: `Bearer ${options.key}` } : {}),
    ...(isJson ? { 'content-type': 'application/json' } : {}),
    ...(key ? { 'idempotency-key': key } : {}),
    ...(call.ifMatch ? { 'if-match': call.ifMatch } : {}),
    ...(last ? { 'consistency-token': last } : {}),
    ...call.headers,
  };
};

/** Calls an operation over the network. @throws Error with a one-line message if the platform does not answer */
export const askOverFetch = async (shared: Shared, name: string, sent: AnySent, call: CallOptions): Promise<Answer<unknown>> => {
  const target = await targetNamed(shared, name);
  const { path, body: fields } = splitFields(target, shared.asOf === null ? sent : { ...sent, as_of: shared.asOf });
  const body = bodyOf(target, fields);
  const method = target.method.toUpperCase();
  const { timeoutMs = target.isForm ? TRANSFER_TIMEOUT_MS : TIMEOUT_MS, retries: wanted = RETRIES } = { ...shared.options, ...call };
  const retries = method !== 'POST' || target.takesKey ? wanted : 0;
  const headers = headersOf(shared, { target, call, isJson: typeof body === 'string', retries });
  const request = { method, url: shared.url + path, headers, body };
  const { signal } = call;
  const readsBody = target.reply !== 'response';
  const startedAt = performance.now();
  const response = await sendWithRetries(() => shared.send(request, { timeoutMs, signal, readsBody }), { retries, signal });
  shared.token.advance(response.headers.get('consistency-token'));
  const sentHeaders = Object.fromEntries(Object.entries(headers).filter(([header]) => header !== 'authorization'));
  const milliseconds = performance.now() - startedAt;
  const done = { method, path, ...(typeof body === 'string' ? { body } : {}), headers: sentHeaders, milliseconds };
  return readsBody ? answerOf(response, done) : answerOf(response, done, async () => response);
};
