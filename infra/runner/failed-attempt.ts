import { stripVTControlCharacters } from 'node:util';
import type { AttemptOutcome } from '../../domain/runners/attempt-report.ts';
import type { BudgetRefusal } from './budget-refusal.ts';

/** `part` is what is reported: the end of standard error, but the start of an answer. `isCut`: there was more. */
export type Output = { readonly text: Uint8Array | string; readonly part: 'start' | 'end'; readonly isCut: boolean };

/** Why a run failed, for the report to the service. The broker need not wait for the output. */
export type Cause = {
  readonly outcome: AttemptOutcome;
  readonly code?: string | number | null | undefined;
  readonly output?: Output | Promise<Output> | undefined;
};

/**
 * Why the processing of an event failed. `reason` is the beginning of a sentence. `delayMs` is the delay in
 * milliseconds before the next attempt; if absent, the delay increases with every attempt. `cause` has the further fields
 * of the report to the service. `budget` is present if the budget of the agent may have prevented the run.
 */
export type Failure = {
  readonly reason: string;
  readonly delayMs?: number | undefined;
  readonly cause?: Cause | undefined;
  readonly budget?: BudgetRefusal | undefined;
};

/** The number of bytes of an output that are kept. Only a part of it is reported. */
export const MAX_KEPT_BYTES = 65_536;
/** The body of an answer is read for at most this many milliseconds. */
const BODY_TIMEOUT_MS = 2_000;

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
    read: (): Output => ({ text: tail, part: 'end', isCut }),
  };
};

/** Returns an output as plain text, without the escape sequences of terminals. */
export const plainText = (output: Uint8Array | string): string =>
  stripVTControlCharacters(typeof output === 'string' ? output : new TextDecoder().decode(output)).replaceAll('\0', '');

/** Reads for a short time, and ends the answer. */
export const startOfBody = async (body: ReadableStream<Uint8Array> | null): Promise<Output> => {
  const chunks: Uint8Array[] = [];
  const limited = body?.pipeThrough(new TransformStream(), { signal: AbortSignal.timeout(BODY_TIMEOUT_MS) });
  let [length, isCut] = [0, false];
  try {
    for await (const chunk of limited ?? []) {
      chunks.push(chunk);
      length += chunk.length;
      isCut = length >= MAX_KEPT_BYTES;
      if (isCut) break;
    }
  } catch {
    // The connection broke, or the time is over; what has arrived still says something.
    isCut = true;
  }
  return { text: Buffer.concat(chunks), part: 'start', isCut };
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
