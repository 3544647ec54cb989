/** The codes of problem documents. api/http/problem.ts maps each code to an HTTP status. */
export type RefusalCode =
  | 'malformed'
  | 'unauthorized'
  | 'key_expired'
  | 'key_owner_inactive'
  | 'forbidden'
  | 'recent_sign_in_required'
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
  | 'misdirected'
  | 'invalid'
  | 'rate_limited'
  | 'budget_exceeded'
  | 'unavailable'
  | 'not_caught_up'
  | 'internal'
  | 'bad_gateway';

/**
 * One invalid value in a request. `pointer` is a JSON pointer (RFC 6901) to the value in the body; for a value that is
 * not in the body, it starts with `/query/` or `/path/`.
 */
export type FieldError = { pointer: string; code: string; message: string };

/**
 * What a refusal adds to the response: invalid values (`errors`), response headers, and further fields of the problem
 * document (`members`).
 */
export type RefusalDetails = {
  errors?: FieldError[];
  retryAfter?: number;
  location?: string;
  allow?: string;
  acceptEncoding?: string;
  members?: Record<string, unknown>;
  /**
   * The id of the tenant whose audit log is to show the refusal. It is needed only for a status other than 403, because
   * refusals with status 403 are shown anyway.
   */
  recordedIn?: string;
};

/** The only error whose detail users see. Any other error is a bug: its response has the status 500 and no detail. */
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

/**
 * Returns the refusal for a resource that does not exist and for one that the caller must not know about. The response
 * is the same in both cases, so that it does not reveal which case it is.
 */
export const notFound = (): Refusal => new Refusal('not_found', 'No such resource, or you have no access to it');

/** Returns the refusal (status 422) of a request with one invalid value. */
export const invalid = (pointer: string, message: string, code = 'invalid'): Refusal =>
  new Refusal('invalid', message, { errors: [{ pointer, code, message }] });

/**
 * Returns the refusal (status 409) of a request that conflicts with the present state. `pointer` names the value that
 * causes the conflict, and `code` the kind of conflict.
 */
export const conflict = (pointer: string, code: string, detail: string, members?: Readonly<Record<string, unknown>>): Refusal =>
  new Refusal('conflict', detail, { errors: [{ pointer, code, message: detail }], ...(members && { members }) });

/** Returns the refusal for a slug that another resource already uses. */
export const slugTaken = (detail: string): Refusal =>
  new Refusal('slug_taken', detail, { errors: [{ pointer: '/slug', code: 'taken', message: 'is taken' }] });
