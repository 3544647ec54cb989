/** Every code that a problem document may bear; the status each one answers with stands in api/http/problem.ts. */
export type RefusalCode =
  | 'malformed'
  | 'unauthorized'
  | 'key_expired'
  | 'key_owner_inactive'
  | 'forbidden'
  | 'tenant_suspended'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'slug_taken'
  | 'not_configured'
  | 'plan_limit'
  | 'idempotency_in_flight'
  | 'idempotency_mismatch'
  | 'secret_already_shown'
  | 'precondition_failed'
  | 'too_slow'
  | 'too_large'
  | 'headers_too_large'
  | 'unsupported_media_type'
  | 'invalid'
  | 'rate_limited'
  | 'unavailable'
  | 'not_caught_up'
  | 'internal';

/** One thing that is wrong with a request; `pointer` is an RFC 6901 JSON pointer into the body, or `/query/…`, `/path/…`. */
export type FieldError = { pointer: string; code: string; message: string };

export type RefusalDetails = {
  errors?: FieldError[];
  retryAfter?: number;
  location?: string;
  allow?: string;
  acceptEncoding?: string;
  members?: Record<string, unknown>;
};

/** The one error that users see. Everything else that is thrown is a bug and answers 500 with no detail. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly extra: RefusalDetails;
  constructor(code: RefusalCode, detail: string, extra: RefusalDetails = {}) {
    super(detail);
    this.name = 'Refusal';
    this.code = code;
    this.extra = extra;
  }
}

/** What is not there and what the caller may not know of answer alike, byte by byte. */
export const notFound = (): Refusal => new Refusal('not_found', 'No such resource, or you have no access to it');

/** A 422 about one field. */
export const invalid = (pointer: string, message: string, code = 'invalid'): Refusal =>
  new Refusal('invalid', message, { errors: [{ pointer, code, message }] });
