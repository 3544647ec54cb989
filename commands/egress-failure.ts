import { Refusal } from '../domain/refusal.ts';

/** `forbidden`: the platform must not send requests to this URL. `unreachable`: no answer in time. `bad_response`: an unusable answer. */
export type EgressFailure = 'forbidden' | 'unreachable' | 'bad_response';

/** `message` is for users. */
export type FailedEgress = { readonly failure: EgressFailure; readonly message: string };

/** The time after which a client should repeat a request that failed because another host is unreachable. */
const RETRY_AFTER_SECONDS = 10;

/** Status 422, 503 or 502. `pointer`: the field with the URL. */
export const refusalOfEgress = ({ failure, message }: FailedEgress, pointer: string): Refusal => {
  if (failure === 'forbidden') return new Refusal('invalid', message, { errors: [{ pointer, code: 'forbidden_url', message }] });
  if (failure === 'unreachable') return new Refusal('unavailable', message, { retryAfter: RETRY_AFTER_SECONDS });
  return new Refusal('bad_gateway', message);
};
