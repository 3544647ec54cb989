import { Refusal } from '../domain/refusal.ts';

/**
 * Why a request to another host failed. `forbidden`: the platform must not send requests to this URL. `unreachable`:
 * the host does not answer, or not in time. `bad_response`: its response cannot be used.
 */
export type EgressFailure = 'forbidden' | 'unreachable' | 'bad_response';

/** A failed request to another host. `message` is a text for users. */
export type FailedEgress = { readonly failure: EgressFailure; readonly message: string };

/**
 * The number of seconds after which a client should repeat a request that failed because another host is unreachable.
 */
const RETRY_AFTER_SECONDS = 10;

/**
 * Returns the refusal (status 422, 503 or 502) of an API request for which a request to another host failed. `pointer`
 * is the JSON pointer of the field that contains the URL.
 */
export const refusalOfEgress = ({ failure, message }: FailedEgress, pointer: string): Refusal => {
  if (failure === 'forbidden') return new Refusal('invalid', message, { errors: [{ pointer, code: 'forbidden_url', message }] });
  if (failure === 'unreachable') return new Refusal('unavailable', message, { retryAfter: RETRY_AFTER_SECONDS });
  return new Refusal('bad_gateway', message);
};
