import { ErrorType } from '@eventstore/db-client';
import { LogError, type LogErrorKind } from './event-log.ts';

const retried: ReadonlySet<string> = new Set([
  ErrorType.TIMEOUT,
  ErrorType.DEADLINE_EXCEEDED,
  ErrorType.UNAVAILABLE,
  ErrorType.CANCELLED,
  ErrorType.NOT_LEADER,
]);

/** What a server that is not ready answers, and what a connection that ends leaves of the calls on it, have no type of their own. */
const notReady =
  /server is not ready|ECONNRESET|ECONNREFUSED|socket hang up|Failed to discover|GOAWAY|Session closed|Received RST_STREAM|Channel has been shut down|Cancelled on client|^13 INTERNAL|^14 UNAVAILABLE/i;
/** Errors of Node's own: a call was written to, or waited for, when its connection had gone. */
const brokenOff = /^(ERR_HTTP2_|ERR_STREAM_|EPIPE$|ETIMEDOUT$)/;

/** What the embedded store says of a record that is not what was written: final, whatever its type. */
const harmed = /the log is damaged at position \d+/;

const kindOf = (error: unknown): LogErrorKind => {
  if (!(error instanceof Error)) return 'wrong-request';
  const type = (error as { type?: string }).type ?? '';
  if (type === ErrorType.WRONG_EXPECTED_VERSION) return 'conflict';
  if (type === ErrorType.STREAM_DELETED) return 'gone';
  if (harmed.test(error.message)) return 'damaged';
  const { code } = error as { code?: unknown };
  if (retried.has(type) || notReady.test(error.message) || brokenOff.test(String(code))) return 'unavailable';
  return 'wrong-request';
};

/** Sorts whatever the client threw into conflict, gone, damaged, unavailable (try again) and wrong request. */
export const classify = (error: unknown): LogError =>
  error instanceof LogError ? error : new LogError(kindOf(error), error instanceof Error ? error.message : String(error), error);
