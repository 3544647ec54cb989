import { stripVTControlCharacters } from 'node:util';
import type { AttemptOutcome } from '../../domain/runners/attempt-report.ts';

/**
 * Why a run failed, for the report to the service. `output` is the end of what the handler wrote to standard error, or of
 * what it answered. `isCut` is whether there was more before it.
 */
export type Cause = {
  readonly outcome: AttemptOutcome;
  readonly code?: string | number | null | undefined;
  readonly output?: Uint8Array | string | undefined;
  readonly isCut?: boolean | undefined;
};

/**
 * Why the processing of an event failed. `reason` is the beginning of a sentence. `delayMs` is the delay in
 * milliseconds before the next attempt; if absent, the delay increases with every attempt. `cause` is what the service
 * is told in addition.
 */
export type Failure = { readonly reason: string; readonly delayMs?: number | undefined; readonly cause?: Cause | undefined };

/** The number of bytes of an output that are kept. Only the end of it is reported. */
export const MAX_KEPT_BYTES = 65_536;

/** Keeps the end of an output. */
export const createOutputTail = () => {
  let tail: Buffer = Buffer.alloc(0);
  let isCut = false;
  return {
    add: (chunk: Uint8Array): void => {
      const all = Buffer.concat([tail, chunk]);
      isCut ||= all.length > MAX_KEPT_BYTES;
      tail = all.subarray(Math.max(0, all.length - MAX_KEPT_BYTES));
    },
    read: () => ({ output: tail as Uint8Array, isCut }),
  };
};

/** Returns an output as plain text, without the escape sequences of terminals. */
export const plainText = (output: Uint8Array | string): string =>
  stripVTControlCharacters(typeof output === 'string' ? output : new TextDecoder().decode(output)).replaceAll('\0', '');

/** Reads the start of the body of an answer, and ends the answer. */
export const startOfBody = async (body: ReadableStream<Uint8Array> | null): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body ?? []) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= MAX_KEPT_BYTES) break;
    }
  } catch {
    // The connection broke in the middle of the body. What has arrived says something, too.
  }
  return Buffer.concat(chunks).toString();
};

const TIMEOUTS: ReadonlySet<unknown> = new Set(['TimeoutError', 'ETIMEDOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** Returns the code of an error or, if it has none, that of its cause. */
export const codeOf = (error: unknown): string | number | undefined => {
  if (typeof error !== 'object' || error === null) return undefined;
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  return typeof code === 'string' || typeof code === 'number' ? code : codeOf(cause);
};

/** Returns what an error of a request or of a handler says about the run. */
export const causeOfError = (error: unknown, otherwise: AttemptOutcome): Cause => {
  // The code of a DOMException is the same for all of its kind.
  const code = error instanceof DOMException ? undefined : codeOf(error);
  const isTimeout = TIMEOUTS.has((error as Error | null)?.name) || TIMEOUTS.has(code);
  return { outcome: isTimeout ? 'timed_out' : otherwise, code };
};

/** Returns the stack of an error and of its causes. The other fields of an error are left out: they can have secrets. */
export const stackOf = (error: unknown): string => {
  if (!(error instanceof Error)) return '';
  const { stack = String(error), cause } = error;
  return cause instanceof Error ? `${stack}\ncaused by ${stackOf(cause)}` : stack;
};
