import { Refusal } from '../domain/refusal.ts';

/**
 * Why a request to another host failed. `forbidden`: the platform does not send requests to this URL. `unreachable`:
 * the host does not answer, or not in time. `bad_response`: the answer cannot be used.
 */
export type EgressFailure = 'forbidden' | 'unreachable' | 'bad_response';

/** A failed request to another host. The message is for users. */
export type FailedEgress = { readonly failure: EgressFailure; readonly message: string };

/** How long clients wait before they repeat a request that failed because another host is unreachable, in seconds. */
const RETRY_AFTER_SECONDS = 10;

/**
 * Returns the refusal of an API request because a request to another host failed: 422, 503 or 502. `pointer` is the
 * JSON pointer of the field that contains the URL.
 */
export const refusalOfEgress = ({ failure, message }: FailedEgress, pointer: string): Refusal => {
  if (failure === 'forbidden') return new Refusal('invalid', message, { errors: [{ pointer, code: 'forbidden_url', message }] });
  if (failure === 'unreachable') return new Refusal('unavailable', message, { retryAfter: RETRY_AFTER_SECONDS });
  return new Refusal('bad_gateway', message);
};
