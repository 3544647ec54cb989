import type { RefusalCode } from '../../domain/refusal.ts';

/**
 * The content of the page about a problem type: when the problem occurs, why, what to do, and the `detail` of an
 * example.
 */
type Explanation = { readonly when: string; readonly why: string; readonly what_to_do: string; readonly detail: string };

export const EXPLANATIONS: Readonly<Record<RefusalCode, Explanation>> = {
  malformed: {
    when: 'The request is not valid HTTP or JSON, or a header has no valid value.',
    why: 'The service cannot tell what the request means.',
    what_to_do: 'Correct what `detail` names, and send the request again.',
    detail: 'The body is not valid JSON',
  },
  unauthorized: {
    when: 'The request has no credential, or the credential is not valid.',
    why: 'The API key is missing, incomplete, unknown or revoked, or the token was not issued for this service.',
    what_to_do: 'Send the header `Authorization: Bearer <API key>`. If the key was revoked, create another one.',
    detail: 'Send Authorization: Bearer <API key>',
  },
  key_expired: {
    when: 'The API key was valid until its `expires_at`.',
    why: 'Keys with an end time stop working at that time.',
    what_to_do: 'Create another API key, and replace the old one where it is used.',
    detail: 'The API key expired at 2026-01-31T00:00:00.000Z',
  },
  key_owner_inactive: {
    when: 'The user who created the API key is suspended, has left the tenant, or may no longer act with the role of the key.',
    why: 'An API key acts as its owner, and never has more rights than the owner has at the moment.',
    what_to_do: 'Use an API key of an active member.',
    detail: 'The owner of this API key is no longer a member of the tenant',
  },
  forbidden: {
    when: 'The caller is known, but lacks the permission in `permission`, or the operation is not for this kind of credential.',
    why: 'Roles, grants and the limits of the API key decide what a caller may do.',
    what_to_do: 'Ask an OWNER or ADMIN of the tenant for the permission, or use another API key.',
    detail: 'This needs the permission agent:settings:write',
  },
  recent_sign_in_required: {
    when: 'A browser that signed in at the issuer more than 15 minutes ago calls an operation that needs a recent sign-in.',
    why: 'A stolen cookie must not be enough to open secrets, erase a tenant, change super-admins or read in a foreign tenant.',
    what_to_do: 'Sign in again at `/auth/login?max_age=0`, and repeat the request. API keys are not affected.',
    detail: 'This needs a sign-in of the last 15 minutes: sign in again at /auth/login?max_age=0',
  },
  tenant_suspended: {
    when: 'The tenant is suspended.',
    why: 'The operator of the platform has suspended it; its data are kept.',
    what_to_do: 'Ask the operator of the platform to resume the tenant.',
    detail: 'The tenant is suspended',
  },
  not_found: {
    when: 'The resource does not exist, or the caller may not know that it does.',
    why: 'Both cases get the same response, so that nobody can find out which resources others have.',
    what_to_do: 'Check the path and the ids in it, and that the credential is for this tenant.',
    detail: 'No such resource, or you have no access to it',
  },
  method_not_allowed: {
    when: 'The path exists, but not with this HTTP method.',
    why: 'Each operation has one method.',
    what_to_do: 'Use one of the methods in the header `Allow`.',
    detail: 'This path supports GET, HEAD, OPTIONS',
  },
  conflict: {
    when: 'The request contradicts the present state of a resource.',
    why: 'Another change came first, or a rule does not allow this change now. If one value of the request causes it, `errors` names that value.',
    what_to_do: 'Read the resource again, and do first what `detail` says.',
    detail: 'The user is already a member of this tenant',
  },
  slug_taken: {
    when: 'Another resource uses this slug.',
    why: 'A slug names one resource only.',
    what_to_do: 'Choose another slug.',
    detail: 'The slug reviewer is taken',
  },
  not_configured: {
    when: 'The operation needs a setting that this installation does not have.',
    why: '`detail` names the missing variable.',
    what_to_do: 'Ask the operator of the platform to set the variable.',
    detail: 'OIDC_ISSUER is not set: browsers cannot sign in',
  },
  plan_limit: {
    when: "The tenant has as many resources of this kind as its plan's limit allows.",
    why: 'Plans limit agents, members, cron jobs and webhook deliveries.',
    what_to_do: 'Delete what is no longer needed, or change the plan.',
    detail: 'The plan allows at most 5 agents',
  },
  idempotency_in_flight: {
    when: 'A request with the same Idempotency-Key is still being processed.',
    why: 'The same request must not run twice.',
    what_to_do: 'Wait as long as `Retry-After` says, and send the request again with the same key.',
    detail: 'The same request is still being processed',
  },
  secret_already_shown: {
    when: 'A request that creates a secret was repeated with the same Idempotency-Key.',
    why: 'Secrets are shown once and are not stored.',
    what_to_do: 'Use the secret from the first response. If it is lost, create another one, and revoke the one in `Location`.',
    detail: 'The first response contained the secret, which is not stored',
  },
  precondition_failed: {
    when: 'The ETag in `If-Match` is not that of the resource.',
    why: 'The resource has changed since it was read, or the ETag is weak.',
    what_to_do: 'Read the resource again, apply the change to it, and send its new ETag.',
    detail: 'The resource has changed since it was read',
  },
  too_slow: {
    when: 'The request did not arrive within 30 seconds.',
    why: 'Connections that send nothing would use up the service.',
    what_to_do: 'Send the request again over a faster connection.',
    detail: 'The request took too long to arrive',
  },
  too_large: {
    when: 'The body, or the event that it leads to, is larger than `limit`.',
    why: 'Sizes are limited, so that one request cannot use up the service.',
    what_to_do: 'Send less.',
    detail: 'The body may have at most 524288 bytes',
  },
  unsupported_media_type: {
    when: 'The content type or the content encoding of the body is not supported.',
    why: 'Bodies are JSON in UTF-8 and are not compressed.',
    what_to_do: 'Send `Content-Type: application/json` and no `Content-Encoding`.',
    detail: 'The body must be application/json in UTF-8',
  },
  misdirected: {
    when: 'The service can be reached from its own machine only, and the header `Host` has a name that does not belong to it.',
    why: 'A web page of another site could otherwise read from the service, if the name of that site leads to this machine.',
    what_to_do: 'Use the URL in `PUBLIC_URL`. If the service has another name, for example that of a tunnel, set `PUBLIC_URL` to it.',
    detail: 'This service is not example.com: use its PUBLIC_URL, or set PUBLIC_URL to the URL with which you reach it',
  },
  idempotency_mismatch: {
    when: 'The Idempotency-Key was used for a request with another body.',
    why: 'A key stands for one request.',
    what_to_do: 'Use a new key for each new request.',
    detail: 'This Idempotency-Key was used for another request',
  },
  invalid: {
    when: 'The request can be read, but a value in it is not valid.',
    why: '`errors` lists each value with a JSON pointer and a reason. Pointers that start with `/query/` name query parameters.',
    what_to_do: 'Correct the listed values, and send the request again.',
    detail: '/name: is missing',
  },
  rate_limited: {
    when: 'The caller has sent more requests than the limit in `RateLimit-Policy` allows.',
    why: 'Limits keep one caller from using up the service. This request had no effect.',
    what_to_do: 'Wait as long as `Retry-After` says.',
    detail: 'Too many requests: try again in 12 s',
  },
  budget_exceeded: {
    when: 'The agent would spend more in this hour (UTC) than its hourly budget allows, or has spent it.',
    why: 'Limits keep the costs of an agent predictable. `limit_usd` is the budget, `left_usd` what is left of it.',
    what_to_do: 'Wait until `resets_at`, which `Retry-After` gives in seconds, reserve less, or raise the budget.',
    detail: 'Only 0.25 USD of the hourly budget of 5 USD are left until 2026-03-14T10:00:00.000Z',
  },
  headers_too_large: {
    when: 'The request has more than 200 headers, or more than 16 KiB of them.',
    why: 'Their size is limited.',
    what_to_do: 'Send fewer or shorter headers; large cookies are a frequent cause.',
    detail: 'The headers may have at most 16 KiB',
  },
  internal: {
    when: 'Something failed in the service.',
    why: 'This is an error in the service, not in the request.',
    what_to_do: 'Try again. If it persists, tell the operator of the platform the `request_id`: the log has the cause.',
    detail: 'The request failed because of an error in this service',
  },
  bad_gateway: {
    when: 'Another host that the request needs, such as the host of a git repository, gave an answer that cannot be used.',
    why: 'Its answer is incomplete, too large, not valid HTTP or not what the request needs.',
    what_to_do: 'Check the URL of the host. If it is correct, tell the operator of that host what `detail` says.',
    detail: 'git.example.com redirects more than 3 times',
  },
  unavailable: {
    when: 'A service that the request needs cannot be reached, or is overloaded.',
    why: 'The event store, the database, the issuer for sign-ins or the host of a git repository does not answer.',
    what_to_do: 'Wait as long as `Retry-After` says. `/readyz` names what is degraded.',
    detail: 'The read models cannot be reached: try again',
  },
  not_caught_up: {
    when: 'The read model has not reached the position in the Consistency-Token.',
    why: 'Reads come from projections of the event log, which can be behind for a moment.',
    what_to_do: 'Wait as long as `Retry-After` says, or read without the token.',
    detail: 'The event log has not reached this Consistency-Token yet',
  },
};
