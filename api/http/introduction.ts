/**
 * The introduction of the OpenAPI document (`info.description`), in Markdown. It explains the rules that apply to all
 * operations.
 */
export const INTRODUCTION = `Annals is a multi-tenant platform for running and administering software agents. Every change is an event in one log. What
you read comes from read models that follow the log within milliseconds. [The guides](/guides) explain how to use and operate it.

Bodies are JSON in UTF-8 of at most 512 KiB. Ids are \`c\` and 24 characters of a-z and 0-9. Times are RFC 3339 in UTC with
milliseconds. Unknown fields and query parameters are refused. In a PATCH, an absent field stays as it is; \`null\` clears a field that
can be empty, and resets a field that has a default.

## Credentials

Send \`Authorization: Bearer <credential>\`. A credential is an API key (\`ann_…\`) or, if the platform has an OpenID issuer, a token of
that issuer. An API key of a tenant acts as its owner, and only in that tenant. A platform key acts as a super-admin. A runner key
belongs to one agent. A key is shown only once, when it is created. \`GET /me\` says who a credential is and what it may do.

## Errors

Every error is a problem document (RFC 9457) with the media type \`application/problem+json\`. Programs decide by \`code\`, people read
\`detail\`. \`errors\` names each invalid value by a JSON pointer. \`GET /problems/{type}\` explains a kind of problem. A resource of
another tenant gives the same 404 as one that does not exist.

## Lists and paging

A list is a JSON array of at most \`limit\` items (1 to 200, default 50), newest first. If there are more, the response has the header
\`Link: <…>; rel="next"\` with the URL of the next page; the last page has none. \`sort\` names a field, with \`-\` in front for descending
order; a \`cursor\` is refused in another order than that of its page. \`Total-Count\` is the number of all items, on unfiltered lists that are counted.

## ETags and If-Match

The \`ETag\` of a resource is its revision, such as \`"7"\`. Send it in \`If-Match\` with a change: if the resource has changed since, the
response is 412 and nothing happens. Send it in \`If-None-Match\` with a read: if the resource is unchanged, the response is 304.

## Idempotency-Key

Send an \`Idempotency-Key\` (1 to 255 printable ASCII characters) with a change that you may have to repeat. A repeat with the same key
and body within 24 hours has no further effect and gets the response of the first request, with \`Idempotent-Replayed: true\`. Another
body with the same key is 422; while the first request runs, a repeat is 409. A secret is never shown again: the repeat is 409 with the
code \`secret_already_shown\` and the path of the resource in \`Location\`.

## Consistency-Token

The response to a change has a \`Consistency-Token\`, its position in the log. Send it with a read, and the read waits up to 2 s until
it shows the change; otherwise it is 503 with the code \`not_caught_up\`. Without a token, a read waits up to 250 ms for the last change
of the same caller through the same process. \`Projection-Position\` says up to which position a read is complete. If the log has had
later events for a second or longer, \`Projection-Lag\` says for how many seconds. Tokens are opaque.

## Reading the past (as_of)

\`as_of\` reads a resource, or one of some lists, as it was at a time or at a Consistency-Token. \`Projection-Position\` then says to
which position \`as_of\` was resolved.

## Rate limits

Requests are limited per credential and per tenant, webhook deliveries by the plan of the tenant, and invalid credentials per IP
address. A tenant may make 200 clones of agents, 200 invitations, 30 checkouts and publish 100 versions per hour; its audit log
shows requests beyond that. A refused request is 429 and had no effect. \`RateLimit-Policy\` and \`RateLimit\` show the limits, \`Retry-After\` the seconds to
wait.
`;

/** The headings of the OpenAPI document in their order; those of other areas follow. */
export const HEADINGS = [
  'Agents',
  'Access',
  'Skills',
  'Tools',
  'Chat settings',
  'Sessions',
  'Autocomplete',
  'Benchmarks',
  'Mail',
  'Memory',
  'Marketplace',
  'Files',
  'Language models',
  'API keys',
  'Webhooks in',
  'Runners',
  'Schedules',
  'Credentials',
  'Tenants',
  'Billing',
  'Users',
  'Audit',
  'Operators',
  'Sign-in',
  'System',
];

/** What the headings are about that have no operations. */
export const PLAIN_HEADINGS = {
  Files: 'Pictures of tenants, of the platform and of use cases, and the check of files for threats.',
  'Sign-in': 'How a browser signs in with the OpenID issuer and out again.',
  System: 'Health, metrics and the API documents.',
};
