import { Refusal } from '../../domain/refusal.ts';

/**
 * Why a request to another host failed. `forbidden`: the platform does not send requests to this URL. `unreachable`: the
 * host does not answer, or not in time. `bad_response`: the answer cannot be used.
 */
export type EgressFailure = 'forbidden' | 'unreachable' | 'bad_response';

/** How long clients wait before they repeat a request that failed because another host is unreachable, in seconds. */
const RETRY_AFTER_SECONDS = 10;

/** A request to another host failed. The message is for users: it names the host, but no path, header or credential. */
export class EgressError extends Error {
  readonly failure: EgressFailure;
  constructor(failure: EgressFailure, message: string) {
    super(message);
    this.name = 'EgressError';
    this.failure = failure;
  }
}

/**
 * Returns the refusal with which a request of the API ends when the request to another host has failed: 422, 503 or 502.
 * `pointer` names the field that contains the URL.
 */
export const refusalOfEgress = ({ failure, message }: EgressError, pointer: string): Refusal => {
  if (failure === 'forbidden') return new Refusal('invalid', message, { errors: [{ pointer, code: 'forbidden_url', message }] });
  if (failure === 'unreachable') return new Refusal('unavailable', message, { retryAfter: RETRY_AFTER_SECONDS });
  return new Refusal('bad_gateway', message);
};
