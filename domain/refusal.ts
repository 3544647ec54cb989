/** The codes of problem documents. api/http/problem.ts maps each one to an HTTP status. */
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
 * One invalid value in a request. `pointer` is a JSON pointer (RFC 6901) into the body. For a value outside the body,
 * it starts with `/query/` or `/path/`.
 */
export type FieldError = { pointer: string; code: string; message: string };

/**
 * What a refusal adds to the response: fields of the problem document, and response headers. `members` are further
 * fields of the problem document.
 */
export type RefusalDetails = {
  errors?: FieldError[];
  retryAfter?: number;
  location?: string;
  allow?: string;
  acceptEncoding?: string;
  members?: Record<string, unknown>;
  /**
   * The id of the tenant whose audit log shows the refusal. Set only for refusals with another status than 403; without
   * it, the audit log would not show them.
   */
  recordedIn?: string;
};

/** The only error whose detail users see. Any other error is a bug: the response is 500 without detail. */
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
 * The refusal for a resource that does not exist, and for one that the caller may not know about. The response is
 * identical, so it does not reveal which of the two is the case.
 */
export const notFound = (): Refusal => new Refusal('not_found', 'No such resource, or you have no access to it');

/** Creates the refusal of a request with one invalid value. Its status is 422. */
export const invalid = (pointer: string, message: string, code = 'invalid'): Refusal =>
  new Refusal('invalid', message, { errors: [{ pointer, code, message }] });

/**
 * Creates the refusal of a request because of a conflict. Its status is 409. `pointer` names the value that causes the
 * conflict, `code` the kind of conflict.
 */
export const conflict = (pointer: string, code: string, detail: string, members?: Readonly<Record<string, unknown>>): Refusal =>
  new Refusal('conflict', detail, { errors: [{ pointer, code, message: detail }], ...(members && { members }) });

/** Creates the refusal for a unique key that another resource uses. */
export const slugTaken = (detail: string): Refusal =>
  new Refusal('slug_taken', detail, { errors: [{ pointer: '/slug', code: 'taken', message: 'is taken' }] });
