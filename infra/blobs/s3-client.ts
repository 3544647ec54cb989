import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DOMParser, type Element } from '@xmldom/xmldom';
import { AwsV4Signer } from 'aws4fetch';
import { retryDelay } from '../backoff.ts';
import type { Bucket } from './blob-location.ts';
import { ObjectStoreError } from './object-store-error.ts';

/** `path` is appended to the URL of the bucket: empty, or a slash and the name of an object. */
export type S3Request = {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** Statuses with which a response is returned instead of causing an error. */
  readonly accept?: readonly number[];
};

export type S3Response = { readonly status: number; readonly headers: Headers; readonly body: Buffer };

/** `requestMs` limits one attempt without the transfer, `stallMs` the time without a byte; after `giveUpMs`, no request is repeated. */
export type S3Timeouts = { readonly requestMs: number; readonly stallMs: number; readonly giveUpMs: number };
export const S3_TIMEOUTS: S3Timeouts = { requestMs: 10_000, stallMs: 15_000, giveUpMs: 10_000 };

const MAX_ATTEMPTS = 5;
const RETRY = { minMs: 100, maxMs: 2_000, jitter: 0.5 };
/** The lowest transfer rate: an attempt that sends or receives a part more slowly is aborted. */
const MIN_BYTES_PER_MS = 64;

const RETRIED_STATUSES = new Set([0, 429, 500, 502, 503, 504]);
const RETRIED_CODES = new Set(['RequestTimeout', 'SlowDown', 'InternalError', 'ConditionalRequestConflict', 'OperationAborted']);

export const isTransient = (error: unknown): error is ObjectStoreError =>
  error instanceof ObjectStoreError && (RETRIED_STATUSES.has(error.status) || RETRIED_CODES.has(error.code));

/** @throws ObjectStoreError if the text is not well-formed */
export const parseXml = (text: string): Element => {
  try {
    const onError = (_: string, message: string): void => {
      throw new Error(message);
    };
    const root = new DOMParser({ onError }).parseFromString(text, 'text/xml').documentElement;
    if (root) return root;
  } catch (error) {
    throw new ObjectStoreError(0, 'MalformedAnswer', 'the object store sent malformed XML', error);
  }
  throw new ObjectStoreError(0, 'MalformedAnswer', 'the object store sent an empty document');
};

/** Returns an empty text if there is none. */
export const textOf = (parent: Element, name: string): string => parent.getElementsByTagName(name)[0]?.textContent ?? '';

/** Answers to HEAD requests have no body, so only their status is known. */
export const errorOf = (status: number, body: string): ObjectStoreError => {
  const answer = body.includes('<Error') ? parseXml(body) : null;
  const code = (answer && textOf(answer, 'Code')) || `HTTP ${status}`;
  const message = (answer && textOf(answer, 'Message')) || 'no reason given';
  return new ObjectStoreError(status, code, `the object store refused the request: ${code} (${message})`);
};

const unreachable = (error: unknown): ObjectStoreError => {
  const { cause, name, message } = error as Error & { cause?: { code?: string; message?: string } };
  const reason = name === 'TimeoutError' ? 'it did not answer in time' : (cause?.code ?? cause?.message ?? message);
  return new ObjectStoreError(0, 'Unreachable', `the object store cannot be reached: ${reason}`, error);
};

const encodedQuery = (query: Readonly<Record<string, string>>): string =>
  Object.entries(query)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&');

/** @throws the error if the request must not be repeated */
const beforeRepeat = async (error: unknown, attempt: number, startedAt: number, giveUpMs: number): Promise<void> => {
  if (!isTransient(error) || attempt >= MAX_ATTEMPTS || performance.now() - startedAt > giveUpMs) throw error;
  await sleep(retryDelay(RETRY, attempt));
};

/** The signature of every request covers its body (AWS Signature Version 4). */
export const createS3Client = ({ endpoint, region, accessKeyId, secretAccessKey }: Bucket, timeouts: S3Timeouts = S3_TIMEOUTS) => {
  const keyCache = new Map<string, ArrayBuffer>();

  const fetchOnce = async ({ method, path, query = {}, headers = {}, body }: S3Request, signal: AbortSignal): Promise<Response> => {
    const signed = await new AwsV4Signer({
      method,
      url: `${endpoint}${path}?${encodedQuery(query)}`.replace(/\?$/, ''),
      headers: {
        ...headers,
        'x-amz-content-sha256': createHash('sha256')
          .update(body ?? '')
          .digest('hex'),
      },
      accessKeyId,
      secretAccessKey,
      region,
      service: 's3',
      cache: keyCache,
    }).sign();
    const init = { method, headers: signed.headers, redirect: 'manual', signal, ...(body && { body }) } as const;
    return fetch(signed.url, init).catch((error: unknown) => {
      throw unreachable(error);
    });
  };

  const attempt = async (request: S3Request): Promise<S3Response> => {
    const signal = AbortSignal.timeout(timeouts.requestMs + Math.ceil((request.body?.length ?? 0) / MIN_BYTES_PER_MS));
    const response = await fetchOnce(request, signal);
    const body = Buffer.from(
      await response.arrayBuffer().catch((error: unknown) => {
        throw unreachable(error);
      }),
    );
    if (!response.ok && !request.accept?.includes(response.status)) throw errorOf(response.status, body.toString());
    return { status: response.status, headers: response.headers, body };
  };

  /** Repeats after temporary errors. An attempt whose response was lost may have succeeded. @throws ObjectStoreError */
  const send = async (request: S3Request): Promise<S3Response> => {
    const startedAt = performance.now();
    for (let count = 1; ; count++)
      try {
        return await attempt(request);
      } catch (error) {
        await beforeRepeat(error, count, startedAt, timeouts.giveUpMs);
      }
  };

  /** @throws ObjectStoreError if the connection breaks or stalls */
  async function* bodyOf(request: S3Request): AsyncGenerator<Uint8Array> {
    const stalled = new AbortController();
    const inTime = async <T>(work: Promise<T>): Promise<T> => {
      const watch = setTimeout(() => stalled.abort(new DOMException('stalled', 'TimeoutError')), timeouts.stallMs);
      return work.finally(() => clearTimeout(watch));
    };
    try {
      const response = await inTime(fetchOnce(request, stalled.signal));
      if (!response.ok) throw errorOf(response.status, await inTime(response.text()));
      const reader = response.body!.getReader();
      for (;;) {
        const { done, value } = await inTime(reader.read());
        if (done) return;
        yield value;
      }
    } catch (error) {
      throw error instanceof ObjectStoreError ? error : unreachable(error);
    } finally {
      // Close the connection if the response was not read to its end.
      stalled.abort();
    }
  }

  /** If the connection breaks, continues at the next byte, unless the object has changed (`etag`). @throws ObjectStoreError */
  async function* bytesFrom(path: string, from: number, size: number, etag: string): AsyncGenerator<Uint8Array> {
    let [at, failures, startedAt] = [from, 0, performance.now()];
    while (at < size)
      try {
        const headers = { range: `bytes=${at}-${size - 1}`, 'if-match': etag };
        for await (const bytes of bodyOf({ method: 'GET', path, headers })) {
          at += bytes.length;
          [failures, startedAt] = [0, performance.now()];
          yield bytes;
        }
        if (at < size) throw new ObjectStoreError(0, 'Unreachable', 'the object store ended an answer early');
      } catch (error) {
        await beforeRepeat(error, ++failures, startedAt, timeouts.giveUpMs + timeouts.stallMs);
      }
  }

  return { send, bytesFrom };
};

export type S3Client = ReturnType<typeof createS3Client>;
