/** api/http/problem.ts maps each code to an HTTP status. */
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

/** `pointer`: a JSON pointer (RFC 6901) into the body, or starting with `/query/` or `/path/`. */
export type FieldError = { pointer: string; code: string; message: string };

/** `members`: further fields of the problem document. */
export type RefusalDetails = {
  errors?: FieldError[];
  retryAfter?: number;
  location?: string;
  allow?: string;
  acceptEncoding?: string;
  members?: Record<string, unknown>;
  /** The tenant whose audit log shows the refusal; only for a status other than 403, which is shown anyway. */
  recordedIn?: string;
};

/** The only error whose detail users see. Any other error is a bug: status 500, no detail. */
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

/** The same refusal whether the resource does not exist or the caller must not know about it. */
export const notFound = (): Refusal => new Refusal('not_found', 'No such resource, or you have no access to it');

/** Status 422, for one invalid value. */
export const invalid = (pointer: string, message: string, code = 'invalid'): Refusal =>
  new Refusal('invalid', message, { errors: [{ pointer, code, message }] });

/** Status 409. `pointer` names the value that conflicts with the present state, `code` the kind of conflict. */
export const conflict = (pointer: string, code: string, detail: string, members?: Readonly<Record<string, unknown>>): Refusal =>
  new Refusal('conflict', detail, { errors: [{ pointer, code, message: detail }], ...(members && { members }) });

export const slugTaken = (detail: string): Refusal =>
  new Refusal('slug_taken', detail, { errors: [{ pointer: '/slug', code: 'taken', message: 'is taken' }] });

type NamedFault = Pick<FieldError, 'pointer' | 'message'>;

const faultText = ({ pointer, message }: NamedFault): string => `${pointer || 'the body'}: ${message}`;

/** Returns the text of a problem and its faults, each once: the text of a problem can be that of its first fault. */
export const problemLines = (detail: string, errors: readonly NamedFault[] = []): readonly [string, ...string[]] => {
  const told = errors.find((error) => detail === error.message || detail === faultText(error));
  return [told ? faultText(told) : detail, ...errors.filter((error) => error !== told).map(faultText)];
};

export const isUnavailable = (error: unknown): boolean => error instanceof Refusal && error.code === 'unavailable';
