import type { Dispatcher } from 'undici';
import { EgressError } from './egress-error.ts';
import type { EgressRules } from './egress-rules.ts';

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
const KEEPS_METHOD: readonly number[] = [307, 308];
/** Matches headers that must be sent only to the first host: a redirect to another host leaves them out. */
const CREDENTIALS = /^(authorization|proxy-authorization|cookie)$/i;
const MAX_REDIRECTS = 3;

export type EgressRequest = {
  readonly url: string;
  /** GET if absent. */
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** The maximum size of the response body in bytes; 8 MiB if absent. */
  readonly maxBytes?: number;
  /** The maximum total time in milliseconds, including redirects and the whole body; 20,000 if absent. */
  readonly totalMs?: number;
  /** The maximum number of redirects; 3 if absent. */
  readonly maxRedirects?: number;
  readonly signal?: AbortSignal;
};

/** `hops` is the number of redirects before this request. */
export type Attempt = { readonly url: URL; readonly request: EgressRequest; readonly signal: AbortSignal; readonly hops: number };

export const headerOf = ({ headers }: Dispatcher.ResponseData, name: string): string | undefined => {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
};

const unusable = (message: string): EgressError => new EgressError('bad_response', message);

const headersFor = (target: URL, { url, request: { headers = {} } }: Attempt): Readonly<Record<string, string>> =>
  target.origin === url.origin ? headers : Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIALS.test(name)));

/**
 * Null if the answer is not a redirect. Credentials are sent only to the first host.
 * @throws EgressError bad_response, and forbidden if requests to the target are not allowed
 */
export const redirected = (attempt: Attempt, response: Dispatcher.ResponseData, rules: EgressRules): Attempt | null => {
  if (!REDIRECTS.includes(response.statusCode)) return null;
  const { url, request, hops } = attempt;
  const { method = 'GET', maxRedirects = MAX_REDIRECTS } = request;
  const location = headerOf(response, 'location');
  if (location === undefined || !URL.canParse(location, url)) throw unusable(`${url.hostname} redirects without a valid URL`);
  if (hops >= maxRedirects) throw unusable(`${url.hostname} redirects more than ${maxRedirects} times`);
  if (method !== 'GET' && method !== 'HEAD' && !KEEPS_METHOD.includes(response.statusCode))
    throw unusable(`${url.hostname} redirects a ${method} request`);
  const target = rules.checkUrl(new URL(location, url).href);
  return { ...attempt, url: target, request: { ...request, headers: headersFor(target, attempt) }, hops: hops + 1 };
};
