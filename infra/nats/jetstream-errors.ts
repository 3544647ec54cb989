import { NatsError } from 'nats';

export const STREAM_NOT_FOUND = 10_059;
export const CONSUMER_NOT_FOUND = 10_014;
export const MESSAGE_NOT_FOUND = 10_037;
const WRONG_LAST_SEQUENCE = new Set([10_070, 10_071, 10_164]);

/** JetStream's own code of an error; 0 if it is another error. */
export const errorCode = (error: unknown): number => (error instanceof NatsError ? (error.api_error?.err_code ?? 0) : 0);

/** The server's description of an error. If the server sent none, the client's message is only a number. */
export const errorReason = (error: unknown): string => {
  if (!(error instanceof NatsError)) return error instanceof Error ? error.message : String(error);
  return error.api_error?.description ?? (error.code === '503' ? 'JetStream does not answer' : error.message);
};

export const isWrongSequence = (error: unknown): boolean => WRONG_LAST_SEQUENCE.has(errorCode(error));

export const isMissingMessage = (error: unknown): boolean => errorCode(error) === MESSAGE_NOT_FOUND;

/** The result of a request; null if the server answers with this error code. */
export const nullOnCode = async <T>(request: Promise<T>, code: number): Promise<T | null> => {
  try {
    return await request;
  } catch (error) {
    if (errorCode(error) === code) return null;
    throw error;
  }
};
