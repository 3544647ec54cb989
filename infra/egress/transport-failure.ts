import { EgressError } from './egress-error.ts';

const codeOf = (error: unknown): string => {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  if (typeof code === 'string') return code;
  return cause instanceof Error ? codeOf(cause) : '';
};

const isTimeout = (error: unknown): boolean =>
  /^(UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|ETIMEDOUT|ETIMEOUT)$/.test(codeOf(error)) ||
  /^(TimeoutError|AbortError)$/.test((error as Error).name ?? '');

const INVALID_ANSWER = /^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_)/;
const INVALID_TLS = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|EPROTO)/;

/** Returns whether undici has refused an answer because it is not valid HTTP. Most of these errors have no code. */
const isInvalidAnswer = (error: unknown): boolean => {
  const { name, message } = error as Error;
  return name === 'HTTPParserError' || message === 'bad upgrade' || INVALID_ANSWER.test(codeOf(error));
};

const timedOut = (host: string): EgressError => new EgressError('unreachable', `${host} does not answer in time`);
const invalidAnswer = (host: string): EgressError => new EgressError('bad_response', `The answer of ${host} is not valid HTTP`);

/** Converts errors before the headers of the answer arrive. The returned error has a message for users. */
export const connectionFailure = (error: unknown, host: string): EgressError => {
  if (error instanceof EgressError) return error;
  if (isTimeout(error)) return timedOut(host);
  if (isInvalidAnswer(error)) return invalidAnswer(host);
  if (INVALID_TLS.test(codeOf(error))) return new EgressError('bad_response', `${host} has no valid TLS certificate`);
  return new EgressError('unreachable', `${host} cannot be reached`);
};

/** Converts errors while the body of the answer is read. The returned error has a message for users. */
export const responseFailure = (error: unknown, host: string): EgressError => {
  if (error instanceof EgressError) return error;
  if (isTimeout(error)) return timedOut(host);
  if (isInvalidAnswer(error)) return invalidAnswer(host);
  return new EgressError('bad_response', `${host} breaks off its answer`);
};
