import type { Dispatcher } from 'undici';
import { createConnectionPool, type PoolOptions } from './connection-pool.ts';
import { EgressError } from './egress-error.ts';
import { createEgressRules, type EgressRuleOptions } from './egress-rules.ts';
import { type Attempt, type EgressRequest, headerOf, redirected } from './redirect.ts';
import { createPlaces } from './request-places.ts';
import { responseFailure } from './transport-failure.ts';

const DEFAULTS = { maxBytes: 8 * 1024 * 1024, totalMs: 20_000 };
/** Limits concurrent requests, to prevent slow hosts from using up the memory. */
export const MAX_REQUESTS = { total: 128, perHost: 32 };
/** An unused body is read up to these limits, so that its connection can serve the next request. */
const UNUSED_BODY = { maxBytes: 64 * 1024, maxMs: 2_000 };

export type EgressResponse = {
  readonly status: number;
  /** The URL that sent the answer. After redirects, it differs from the requested URL. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body, to be read once. Reading can throw an EgressError. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Closes the connection if the body has not been read to its end. It must be called if the body may stay unread. */
  readonly discard: () => void;
};

/** The client for all requests to URLs that come from users. */
export type GuardedClient = {
  /** Sends nothing. @throws EgressError forbidden */
  readonly checkUrl: (url: string) => void;
  /** Follows redirects. A response with any other status is returned. @throws EgressError */
  readonly request: (request: EgressRequest) => Promise<EgressResponse>;
  /** @throws EgressError */
  readonly read: (request: EgressRequest) => Promise<Omit<EgressResponse, 'body' | 'discard'> & { readonly bytes: Uint8Array }>;
  /** The status of the response, whose body is ignored. Redirects are not followed. @throws EgressError */
  readonly status: (request: EgressRequest) => Promise<number>;
  readonly close: () => Promise<void>;
};

export type GuardedClientOptions = EgressRuleOptions & PoolOptions;

const discard = ({ body }: Dispatcher.ResponseData): void => void body.on('error', () => undefined).destroy();

type Body = { readonly response: Dispatcher.ResponseData; readonly host: string; readonly maxBytes: number; readonly end: () => void };

/** @throws EgressError if there are more than `maxBytes`, or the body does not end properly */
async function* limitedBody({ response, host, maxBytes, end }: Body): AsyncIterable<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new EgressError('bad_response', `${host} answers with more than ${maxBytes} bytes`);
      yield chunk;
    }
  } catch (error) {
    throw responseFailure(error, host);
  } finally {
    end();
  }
}

/**
 * Compressed responses are refused because a few bytes can expand to very many.
 * @throws EgressError if the response is too long or compressed
 */
const checkHeaders = (response: Dispatcher.ResponseData, host: string, maxBytes: number): void => {
  const encoding = headerOf(response, 'content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity' && encoding !== '')
    throw new EgressError('bad_response', `${host} compresses its answer, although asked not to`);
  if (Number(headerOf(response, 'content-length') ?? 0) > maxBytes)
    throw new EgressError('bad_response', `${host} answers with more than ${maxBytes} bytes`);
};

const collect = async (body: AsyncIterable<Uint8Array>): Promise<Uint8Array> => Buffer.concat(await Array.fromAsync(body));

/** Sends requests to URLs that come from users, but only to public addresses, and to those that the operator allows. */
export const createGuardedClient = (options: GuardedClientOptions = {}): GuardedClient => {
  const rules = createEgressRules(options);
  const pool = createConnectionPool(rules, options);
  const places = createPlaces(MAX_REQUESTS);

  /** Follows redirects. */
  const follow = async (first: Attempt, free: () => void): Promise<EgressResponse> => {
    for (let attempt = first; ; ) {
      const response = await pool.send(attempt);
      const { maxBytes = DEFAULTS.maxBytes } = attempt.request;
      const { hostname: host, href: url } = attempt.url;
      try {
        const next = redirected(attempt, response, rules);
        if (!next) {
          checkHeaders(response, host, maxBytes);
          const end = (): void => {
            discard(response);
            free();
          };
          const body = limitedBody({ response, host, maxBytes, end });
          return { status: response.statusCode, headers: response.headers, url, body, discard: end };
        }
        attempt = next;
      } catch (error) {
        discard(response);
        throw error;
      }
      discard(response);
    }
  };

  /** @throws EgressError if the URL is not allowed or a limit in `MAX_REQUESTS` is reached */
  const begin = (wanted: EgressRequest): { readonly attempt: Attempt; readonly free: () => void } => {
    const url = rules.checkUrl(wanted.url);
    const timeout = AbortSignal.timeout(wanted.totalMs ?? DEFAULTS.totalMs);
    const signal = wanted.signal ? AbortSignal.any([timeout, wanted.signal]) : timeout;
    return { attempt: { url, request: wanted, signal, hops: 0 }, free: places.take(url.host, signal) };
  };

  const request: GuardedClient['request'] = async (wanted) => {
    const { attempt, free } = begin(wanted);
    try {
      return await follow(attempt, free);
    } catch (error) {
      free();
      throw error;
    }
  };

  return {
    checkUrl: (url) => void rules.checkUrl(url),
    request,
    read: async (wanted) => {
      const { body, discard: _, ...response } = await request(wanted);
      return { ...response, bytes: await collect(body) };
    },
    status: async (wanted) => {
      const { attempt, free } = begin(wanted);
      try {
        const { statusCode, body } = await pool.send(attempt);
        const signal = AbortSignal.timeout(UNUSED_BODY.maxMs);
        await body.dump({ limit: UNUSED_BODY.maxBytes, signal }).catch(() => undefined);
        return statusCode;
      } finally {
        free();
      }
    },
    close: pool.close,
  };
};
