import { ErrorType } from '@eventstore/db-client';
import { LogError, type LogErrorKind } from './event-log.ts';

const UNAVAILABLE_TYPES: ReadonlySet<string> = new Set([
  ErrorType.TIMEOUT,
  ErrorType.DEADLINE_EXCEEDED,
  ErrorType.UNAVAILABLE,
  ErrorType.CANCELLED,
  ErrorType.NOT_LEADER,
  // The store refuses the platform's user, its password or its rights, not the request.
  ErrorType.ACCESS_DENIED,
]);

/** The server is not ready, or the connection ended. Some of the client's errors have no type, so messages are compared. */
const UNAVAILABLE_MESSAGE =
  /server is (not ready|busy)|no leader info|NotHandledReason|ECONNRESET|ECONNREFUSED|socket hang up|Failed to discover|GOAWAY|Session closed|Received RST_STREAM|Channel has been shut down|Cancelled on client|^7 PERMISSION_DENIED|^8 RESOURCE_EXHAUSTED|^13 INTERNAL|^14 UNAVAILABLE|^16 UNAUTHENTICATED/i;

/** Matches Node's error codes for a call whose connection closed before the request was sent or answered. */
const CLOSED_CONNECTION_CODE = /^(ERR_HTTP2_|ERR_STREAM_|EPIPE$|ETIMEDOUT$)/;

/** The embedded store's message for a damaged record. Never retried, whatever type the client gives it. */
const DAMAGE_MESSAGE = /the log is damaged at position \d+/;

const kindOf = (error: unknown): LogErrorKind => {
  if (!(error instanceof Error)) return 'wrong-request';
  const type = (error as { type?: string }).type ?? '';
  if (type === ErrorType.WRONG_EXPECTED_VERSION) return 'conflict';
  if (type === ErrorType.STREAM_DELETED) return 'gone';
  if (DAMAGE_MESSAGE.test(error.message)) return 'damaged';
  const { code } = error as { code?: unknown };
  const isUnavailable = UNAVAILABLE_TYPES.has(type) || UNAVAILABLE_MESSAGE.test(error.message) || CLOSED_CONNECTION_CODE.test(String(code));
  return isUnavailable ? 'unavailable' : 'wrong-request';
};

/** The client has no text for some answers to an append, such as one that is denied. Then the type says what happened. */
const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message || ((error as { type?: string }).type ?? error.name) : String(error);

/** Converts any error of the client to a LogError. Only an error of kind 'unavailable' is worth a retry. */
export const classify = (error: unknown): LogError =>
  error instanceof LogError ? error : new LogError(kindOf(error), messageOf(error), error);
