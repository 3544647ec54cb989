import type { Answer } from '../../api/http/answer.ts';
import { cleanPasted } from '../../domain/pasted-text.ts';
import { openOnce } from '../open-once.ts';
import { type ApiDocument, type ApiTarget, targetsIn } from './api-targets.ts';
import { type AnySent, askOverFetch, createLastToken, RETRIES, type Shared, TIMEOUT_MS } from './ask-over-fetch.ts';
import { fetchResponse } from './fetch-response.ts';
import { sendWithRetries } from './send-with-retries.ts';
import { type CallOptions, type Client, type ClientOptions, problemError } from './typed-client.ts';

export type { Answer, Call, Problem } from '../../api/http/answer.ts';
export type { Fields, OperationName, Reply } from './operation-types.ts';
export { type CallOptions, type Client, type ClientOptions, problemIn } from './typed-client.ts';

const nextCursor = (headers: Headers): string | null => {
  const [, next] = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '') ?? [];
  return next === undefined ? null : new URL(next, 'http://localhost').searchParams.get('cursor');
};

const requireSetting = (value: string | undefined, name: string): string => {
  if (value) return value;
  throw new Error(`${name} is not set`);
};

const clientOf = (shared: Shared): Client => {
  const ask = (name: string, sent: AnySent = {}, options: CallOptions = {}) => askOverFetch(shared, name, sent, options);
  const replyIn = (name: string, answer: Answer<unknown>): unknown => {
    if (!answer.ok) throw problemError(name, answer.problem);
    return answer.value;
  };
  const call = async (name: string, sent?: AnySent, options?: CallOptions) => replyIn(name, await ask(name, sent, options));
  async function* each(name: string, sent?: AnySent, options?: CallOptions) {
    for (let cursor: string | null = null; ; ) {
      const answer = await ask(name, cursor === null ? sent : { ...sent, cursor }, options);
      yield* replyIn(name, answer) as readonly unknown[];
      cursor = nextCursor(answer.headers);
      if (cursor === null) return;
    }
  }
  return { ask, call, each, at: (asOf: string) => clientOf({ ...shared, asOf }) } as Client;
};

/**
 * Creates a client of the API that knows the fields and the reply of every operation at compile time. Before the first
 * call, it reads paths and methods from the OpenAPI document of the platform, so that it suits the platform's version.
 *
 * Requests that fail for a temporary reason are repeated. Changes get an Idempotency-Key, so that a repeat acts
 * only once. Reads contain the client's own earlier changes, because they send their Consistency-Token.
 *
 * In an upload, the field of the file is a Blob or File; a File also has a name. The reply of a download or of a stream
 * is the response, whose body the caller reads.
 * @throws Error if neither the option nor the variable for the URL is set
 */
export const createClient = (options: ClientOptions = {}): Client => {
  const url = requireSetting(options.url ?? process.env.ANNALS_URL, 'ANNALS_URL').replace(/\/+$/, '');
  const copied = options.key ?? process.env.ANNALS_KEY;
  const key = copied && cleanPasted(copied);
  const fetch = options.fetch ?? globalThis.fetch;
  const { retries = RETRIES, timeoutMs = TIMEOUT_MS } = options;
  const send: Shared['send'] = (request, rest) => fetchResponse(request, { fetch, ...rest });
  const readTargets = async (): Promise<ReadonlyMap<string, ApiTarget>> => {
    const request = { method: 'GET', url: `${url}/openapi.json`, headers: {}, body: undefined };
    const response = await sendWithRetries(() => send(request, { timeoutMs, readsBody: true }), { retries });
    if (!response.ok) throw new Error(`${url}/openapi.json is not the API of Annals (status ${response.status})`);
    return targetsIn((await response.json()) as ApiDocument);
  };
  return clientOf({ targets: openOnce(readTargets), send, token: createLastToken(), url, options: { ...options, key }, asOf: null });
};
