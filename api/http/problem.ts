import type { Refusal, RefusalCode } from '../../domain/refusal.ts';

type ProblemKind = { readonly status: number; readonly title: string };

/**
 * The statuses and titles of refusals, by code. The code is also the last part of the problem type's URL, with hyphens
 * instead of underscores.
 */
export const PROBLEMS: Readonly<Record<RefusalCode, ProblemKind>> = {
  malformed: { status: 400, title: 'The request cannot be read' },
  unauthorized: { status: 401, title: 'Authentication is required' },
  key_expired: { status: 401, title: 'The API key has expired' },
  key_owner_inactive: { status: 401, title: "The API key's owner is not active" },
  forbidden: { status: 403, title: 'Not allowed' },
  recent_sign_in_required: { status: 403, title: 'The sign-in is too old' },
  tenant_suspended: { status: 403, title: 'The tenant is suspended' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  conflict: { status: 409, title: 'Conflict' },
  slug_taken: { status: 409, title: 'The name is taken' },
  not_configured: { status: 409, title: 'A setting is missing' },
  plan_limit: { status: 409, title: "The plan's limit is reached" },
  idempotency_in_flight: { status: 409, title: 'The same request is still being processed' },
  secret_already_shown: { status: 409, title: 'The secret has been shown before' },
  precondition_failed: { status: 412, title: 'The resource has changed' },
  too_slow: { status: 408, title: 'The request took too long to arrive' },
  too_large: { status: 413, title: 'The request is too large' },
  unsupported_media_type: { status: 415, title: 'The content type is not supported' },
  misdirected: { status: 421, title: 'The request is for another host' },
  idempotency_mismatch: { status: 422, title: 'The Idempotency-Key was used for another request' },
  invalid: { status: 422, title: 'The request is not valid' },
  rate_limited: { status: 429, title: 'Too many requests' },
  budget_exceeded: { status: 429, title: 'The budget of the hour is used up' },
  headers_too_large: { status: 431, title: 'The headers are too large' },
  internal: { status: 500, title: 'Something went wrong' },
  bad_gateway: { status: 502, title: 'Another host gave an unusable answer' },
  unavailable: { status: 503, title: 'Temporarily unavailable' },
  not_caught_up: { status: 503, title: 'The read model is still catching up' },
};

/** Returns the path of a problem type: the refusal code, with hyphens, below /problems/. */
export const problemTypeOf = (code: string): string => `/problems/${code.replaceAll('_', '-')}`;

export const problemTypeAt = (path: string): (ProblemKind & { readonly type: string; readonly code: RefusalCode }) | null => {
  const [code, kind] = (Object.entries(PROBLEMS) as [RefusalCode, ProblemKind][]).find(([code]) => problemTypeOf(code) === path) ?? [];
  return code && kind ? { type: path, code, ...kind } : null;
};

const headersOf = ({ code, extra }: Refusal): Record<string, string> => ({
  'content-type': 'application/problem+json',
  'cache-control': 'no-store',
  ...(PROBLEMS[code].status === 401 ? { 'www-authenticate': 'Bearer realm="annals"' } : {}),
  ...(extra.retryAfter === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(extra.retryAfter))) }),
  ...(extra.location === undefined ? {} : { location: extra.location }),
  ...(extra.allow === undefined ? {} : { allow: extra.allow }),
  ...(extra.acceptEncoding === undefined ? {} : { 'accept-encoding': extra.acceptEncoding }),
});

/**
 * Creates the RFC 9457 response for a refusal. It contains only what the refusal says: no stack trace, no SQL, no
 * secret.
 */
export const problemResponse = (refusal: Refusal, instance: string, requestId: string): Response => {
  const { status, title } = PROBLEMS[refusal.code];
  const body = {
    type: problemTypeOf(refusal.code),
    title,
    status,
    detail: refusal.message,
    instance,
    code: refusal.code,
    ...(refusal.extra.errors ? { errors: refusal.extra.errors } : {}),
    ...refusal.extra.members,
    request_id: requestId,
  };
  return new Response(JSON.stringify(body), { status, headers: headersOf(refusal) });
};
