import type { RefusalCode } from '../../domain/refusal.ts';
import { PROBLEMS, problemTypeOf } from './problem.ts';
import { EXPLANATIONS } from './problem-types.ts';

type Json = Readonly<Record<string, unknown>>;

export const responseHeader = (description: string) => ({ description, schema: { type: 'string' } });

const RATE_LIMIT_HEADERS = {
  'Retry-After': responseHeader('Seconds until the next request is allowed'),
  'RateLimit-Policy': responseHeader('The number of requests that are allowed, and in how many seconds'),
  RateLimit: responseHeader('The number of requests that are left, and the seconds until the quota is full again'),
};

/**
 * The responses that the OpenAPI document uses for problems, by status. `name` is the key in `components/responses`.
 */
const RESPONSES: Readonly<Record<number, { readonly name: string; readonly description: string; readonly headers?: Json }>> = {
  400: { name: 'Malformed', description: 'The body is not JSON, or a header is malformed' },
  401: {
    name: 'Unauthorized',
    description: 'The credential is missing, unknown or expired, or its owner is not active',
    headers: { 'WWW-Authenticate': responseHeader('`Bearer` with the realm of the platform') },
  },
  403: { name: 'Forbidden', description: 'The caller lacks the permission, or the tenant is suspended' },
  404: { name: 'NotFound', description: 'The resource does not exist, or the caller may not know about it' },
  408: { name: 'TooSlow', description: 'The body took too long to arrive' },
  409: {
    name: 'Conflict',
    description: 'The request conflicts with the state of the resource, a limit of the plan or a missing setting',
    headers: {
      Location: responseHeader('With the code `secret_already_shown`: the path of the resource that the first request has created'),
    },
  },
  412: { name: 'PreconditionFailed', description: 'The resource has another ETag than If-Match names' },
  413: { name: 'TooLarge', description: 'The body is too large; `limit` says how many bytes it may have' },
  415: { name: 'UnsupportedMediaType', description: 'The content type, its charset or the Content-Encoding is not supported' },
  421: { name: 'Misdirected', description: 'The header Host has a name that does not belong to this service' },
  422: { name: 'Invalid', description: 'A field, a query parameter or the Idempotency-Key is not valid; `errors` says which and why' },
  429: {
    name: 'RateLimited',
    description: 'Too many requests, or the budget of the agent is used up: this one had no effect',
    headers: RATE_LIMIT_HEADERS,
  },
  431: { name: 'HeadersTooLarge', description: 'The headers of the request are too large' },
  500: { name: 'InternalError', description: 'An error of the platform; report the `request_id`' },
  502: { name: 'BadGateway', description: 'Another host that the request needs gave an answer that cannot be used' },
  503: {
    name: 'Unavailable',
    description: 'A service that the platform needs is down, or the read model has not reached the Consistency-Token in time',
    headers: { 'Retry-After': responseHeader('Seconds until a repeat can succeed') },
  },
};

const EXAMPLE_FIELDS: Readonly<Partial<Record<RefusalCode, Json>>> = {
  slug_taken: { errors: [{ pointer: '/slug', code: 'taken', message: 'is taken' }] },
  forbidden: { permission: 'agent:settings:write' },
  plan_limit: { limit: 'agents', allowed: 5 },
  budget_exceeded: { limit_usd: 5, left_usd: 0.25, resets_at: '2026-03-14T10:00:00.000Z' },
  too_large: { limit: 524_288 },
  invalid: { errors: [{ pointer: '/name', code: 'invalid_type', message: 'is missing' }] },
};

export const exampleProblem = (code: RefusalCode) => ({
  type: problemTypeOf(code),
  title: PROBLEMS[code].title,
  status: PROBLEMS[code].status,
  detail: EXPLANATIONS[code].detail,
  instance: '/tenant/…',
  code,
  ...EXAMPLE_FIELDS[code],
  request_id: '0c8fdd1b-9795-425c-aca5-9146784c2b01',
});

const exampleOf = (code: RefusalCode) => ({ summary: PROBLEMS[code].title, value: exampleProblem(code) });

const contentOf = (codes: readonly RefusalCode[]) => ({
  'application/problem+json': {
    schema: { $ref: '#/components/schemas/Problem' },
    examples: Object.fromEntries(codes.map((code) => [code, exampleOf(code)])),
  },
});

const codesOf = (status: number): RefusalCode[] =>
  (Object.keys(PROBLEMS) as RefusalCode[]).filter((code) => PROBLEMS[code].status === status);

/** The entries of `components/responses` for problems. */
export const PROBLEM_RESPONSES: Json = {
  ...Object.fromEntries(
    Object.entries(RESPONSES).map(([status, { name, ...response }]) => [
      name,
      { ...response, content: contentOf(codesOf(Number(status))) },
    ]),
  ),
  Problem: { description: 'Any other problem', content: contentOf(['method_not_allowed']) },
};

const COMMON = [421, 431, 500];

const reference = (name: string) => ({ $ref: `#/components/responses/${name}` });

export const problemResponses = (statuses: readonly number[]): Json => ({
  ...Object.fromEntries([...statuses, ...COMMON].map((status) => [status, reference(RESPONSES[status]!.name)])),
  default: reference('Problem'),
});

const text = (description: string) => ({ type: 'string', description });

/** The schema of a problem document (RFC 9457). */
export const PROBLEM_SCHEMA = {
  type: 'object',
  description: 'A problem document (RFC 9457)',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'request_id'],
  properties: {
    type: text('The path of a description of this kind of problem'),
    title: text('What kind of problem this is'),
    status: { type: 'integer', description: 'The status of the response' },
    detail: text('What is wrong with this request, and what to do'),
    instance: text('The path of the request'),
    code: { type: 'string', enum: Object.keys(PROBLEMS), description: 'The kind of problem, for programs; existing codes never change' },
    errors: {
      type: 'array',
      description: 'The invalid values of the request, at most 50',
      items: {
        type: 'object',
        required: ['pointer', 'code', 'message'],
        properties: {
          pointer: text('A JSON pointer (RFC 6901) into the body; it starts with `/query/` or `/path/` for a value outside the body'),
          code: text('What is wrong with the value, for programs'),
          message: text('What is wrong with the value'),
        },
      },
    },
    permission: text('With `forbidden`: the permission that is missing'),
    limit: {
      type: ['integer', 'string'],
      description: 'With `too_large`: how many bytes the body may have. With `plan_limit`: what the plan limits',
    },
    allowed: { type: 'integer', description: 'With `plan_limit`: how many the plan allows' },
    limit_usd: { type: 'number', description: 'With `budget_exceeded`: the hourly budget of the agent, in US dollars' },
    left_usd: { type: 'number', description: 'With `budget_exceeded`: what is left of it in this hour' },
    resets_at: { type: 'string', format: 'date-time', description: 'With `budget_exceeded`: when the hour ends' },
    user_id: text('With `conflict`: the member whom it concerns'),
    agent_ids: { type: 'array', items: { type: 'string' }, description: 'With `conflict`: the agents that would lose their last owner' },
    nearest: {
      type: 'array',
      items: { type: 'string' },
      description: 'With `invalid`: existing names that are similar to the refused one',
    },
    request_id: text('The id of the request; it is also in the header `X-Request-Id` and in the log of the platform'),
  },
};
