import { ErrorCode, NatsError } from 'nats';

export const STREAM_NOT_FOUND = 10_059;
export const CONSUMER_NOT_FOUND = 10_014;
export const MESSAGE_NOT_FOUND = 10_037;
/** Error codes which mean that a limit of the server or of the account is reached. A restart does not help. */
const RESOURCE_LIMITS = new Set([10_023, 10_028, 10_047]);
const WRONG_LAST_SEQUENCE = new Set([10_070, 10_071, 10_164]);

/** Codes of errors which mean that the broker cannot be reached, or does not answer. */
const OUTAGE_CODES: ReadonlySet<string> = new Set([
  ErrorCode.ConnectionClosed,
  ErrorCode.ConnectionDraining,
  ErrorCode.ConnectionRefused,
  ErrorCode.ConnectionTimeout,
  ErrorCode.Disconnect,
  ErrorCode.NoResponders,
  ErrorCode.Timeout,
  ErrorCode.AuthenticationTimeout,
  ErrorCode.JetStream408RequestTimeout,
  ErrorCode.JetStreamIdleHeartBeat,
]);

export const isBrokerUnavailable = (error: unknown): boolean => error instanceof NatsError && OUTAGE_CODES.has(error.code);

/** 0 if the error does not come from JetStream. */
export const errorCode = (error: unknown): number => (error instanceof NatsError ? (error.api_error?.err_code ?? 0) : 0);

/** The server's description, if any: the client's message is only a number. */
export const errorReason = (error: unknown): string => {
  if (!(error instanceof NatsError)) return error instanceof Error ? error.message : String(error);
  return error.api_error?.description ?? (error.code === '503' ? 'JetStream does not answer' : error.message);
};

export const isWrongSequence = (error: unknown): boolean => WRONG_LAST_SEQUENCE.has(errorCode(error));

/**
 * After a write error, JetStream refuses requests for the stream or does not run any more. Errors of the connection, timeouts, missing
 * permissions and limits of resources do not mean this.
 */
export const mayBeStoppedStream = (error: unknown): boolean =>
  error instanceof NatsError && !RESOURCE_LIMITS.has(errorCode(error)) && (errorCode(error) > 0 || error.code === '503');

export const isMissingMessage = (error: unknown): boolean => errorCode(error) === MESSAGE_NOT_FOUND;

/** Null if the server answers with the error code `code`. @throws any other error */
export const nullOnCode = async <T>(request: Promise<T>, code: number): Promise<T | null> => {
  try {
    return await request;
  } catch (error) {
    if (errorCode(error) === code) return null;
    throw error;
  }
};
