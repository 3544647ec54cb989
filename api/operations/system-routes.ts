import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import { z } from 'zod';
import { notFound, Refusal } from '../../domain/refusal.ts';
import { matchesIfNoneMatch } from '../http/etag.ts';
import { jsonContentOf } from '../http/example.ts';
import { schemaOf } from '../http/json-schema.ts';
import { type PlainRoute, plainRoute, plainRoutes } from '../http/plain-route.ts';
import { STATIC_PAGE_POLICY } from '../http/problem-html.ts';
import { jsonResponse } from '../http/response.ts';
import { BOOT_SCRIPT, CONTENT_SECURITY_POLICY, PAGE } from './docs-page.ts';
import { LANDING_PAGE } from './landing-page.ts';
import { describeProblem, explainProblem } from './problem-page.ts';
import { type ApiDocument, llmsText, markdownDocs } from './text-docs.ts';

/**
 * `ready`: whether the process can accept webhook deliveries. `degraded`: the services that are down although
 * deliveries are still accepted. `platform`: the id of the event log; null while it is unknown.
 */
export type Readiness = { readonly ready: boolean; readonly degraded: readonly string[]; readonly platform: string | null };

export type SystemDeps = {
  readonly readiness: () => Promise<Readiness>;
  readonly metrics: () => Promise<{ contentType: string; text: string }>;
  /** Whether the caller may read the metrics. It may if it runs on the same machine, or sends METRICS_TOKEN. */
  readonly mayReadMetrics: (c: Context) => boolean;
  readonly openapi: () => unknown;
  readonly asyncapi: () => unknown;
  /** The gzipped script of the package @scalar/api-reference. */
  readonly docsScript: () => Promise<{ gzip: Uint8Array<ArrayBuffer>; etag: string }>;
};

const jsonOf = (body: unknown, status = 200): Response => jsonResponse(JSON.stringify(body), status);

const textOf = (body: string, type: string): Response => new Response(body, { headers: { 'content-type': `${type}; charset=utf-8` } });

const content = (media: string, schema: unknown = { type: media.endsWith('json') ? 'object' : 'string' }, example?: unknown) => ({
  content: { [media]: { schema, ...(example === undefined ? {} : { example }) } },
});

const text = (description: string) => z.string().meta({ description });

const Liveness = z.object({ status: z.literal('live').meta({ description: 'Always `live`' }) });
const ReadinessRead = z.object({
  status: z.enum(['ready', 'not ready']).meta({ description: 'Whether deliveries can be accepted' }),
  degraded: z.array(z.string()).meta({ description: 'What does not work at the moment' }),
  platform: z.string().nullable().meta({ description: 'Identifies the event log that this service uses' }),
});
const readiness = (status: 'ready' | 'not ready', degraded: readonly string[]) =>
  content('application/json', schemaOf(ReadinessRead, 'output', {}), {
    status,
    degraded,
    platform: '0197a3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d',
  });
const ProblemType = z.object({
  type: text('The path of this description'),
  code: text('The kind of problem, for programs'),
  status: z.int().meta({ description: 'The status of the response' }),
  title: text('What kind of problem this is'),
  when: text('When it occurs'),
  why: text('Why it occurs'),
  what_to_do: text('What to do'),
  example: z.looseObject({}).meta({ description: 'A problem document of this kind' }),
});
const PROBLEM_TYPE = {
  content: {
    ...content('application/json', schemaOf(ProblemType, 'output', {}), describeProblem('/problems/not-found')).content,
    ...content('text/html').content,
  },
};
/** A document whose format another standard defines. */
const Document = z.looseObject({});
const METRICS_EXAMPLE = `# HELP nodejs_eventloop_lag_seconds Lag of event loop in seconds.
# TYPE nodejs_eventloop_lag_seconds gauge
nodejs_eventloop_lag_seconds 0.0012
`;
const SCRIPT = 'text/javascript; charset=utf-8';
const SCRIPT_CONTENT = content('text/javascript');

/** Handles a request for the metrics. @throws Refusal unauthorized */
export const readMetrics =
  ({ metrics, mayReadMetrics }: Pick<SystemDeps, 'metrics' | 'mayReadMetrics'>) =>
  async (c: Context): Promise<Response> => {
    if (!mayReadMetrics(c))
      throw new Refusal('unauthorized', 'Metrics can be read from the same machine, or with METRICS_TOKEN as bearer token');
    const { contentType, text } = await metrics();
    return new Response(text, { headers: { 'content-type': contentType } });
  };

type SystemRow<Id, Path, Reply> = Pick<PlainRoute<SystemDeps>, 'summary' | 'description' | 'responses' | 'problems' | 'handler'> & {
  readonly operationId: Id;
  readonly path: Path;
  readonly reply?: Reply;
};

const systemRoute = <const Id extends string, const Path extends string, Reply extends z.ZodType | undefined = undefined>({
  summary,
  responses,
  ...row
}: SystemRow<Id, Path, Reply>) =>
  plainRoute<SystemDeps, Id, Path, undefined, undefined, Reply>({
    ...row,
    method: 'get',
    summary,
    tag: 'System',
    security: [],
    responses: { ...responses, 200: { description: summary, ...responses[200] } },
  });

/**
 * The routes for liveness, readiness, metrics and API documents. They need no API key, and show nothing that belongs to
 * a tenant.
 */
export const systemRoutes = plainRoutes([
  systemRoute({
    path: '/',
    operationId: 'readLandingPage',
    summary: 'A web page that says what to do next',
    description: 'For browsers; other clients get 404.',
    responses: { 200: content('text/html') },
    problems: [404],
    handler: () => (c) => {
      const supports = ['application/json', 'text/html'];
      if (accepts(c, { header: 'Accept', supports, default: 'application/json' }) !== 'text/html') throw notFound();
      return c.body(LANDING_PAGE, 200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': STATIC_PAGE_POLICY });
    },
  }),
  systemRoute({
    path: '/livez',
    operationId: 'isLive',
    summary: 'Whether the process is alive',
    reply: Liveness,
    responses: { 200: { content: jsonContentOf(Liveness, 'output', {}) } },
    handler: () => () => jsonOf({ status: 'live' }),
  }),
  systemRoute({
    path: '/readyz',
    operationId: 'isReady',
    summary: 'Whether deliveries can be accepted',
    description: '`degraded` names what does not work at the moment.',
    reply: ReadinessRead,
    responses: {
      200: readiness('ready', ['delivery to runners']),
      503: { description: 'Deliveries cannot be accepted', ...readiness('not ready', ['event store']) },
    },
    handler: (deps) => async () => {
      const { ready, ...parts } = await deps.readiness();
      return jsonOf({ status: ready ? 'ready' : 'not ready', ...parts }, ready ? 200 : 503);
    },
  }),
  systemRoute({
    path: '/metrics',
    operationId: 'readMetrics',
    summary: 'Prometheus metrics',
    description: 'For callers on the same machine, or with METRICS_TOKEN as bearer token.',
    responses: { 200: content('text/plain', { type: 'string' }, METRICS_EXAMPLE) },
    problems: [401],
    handler: readMetrics,
  }),
  systemRoute({
    path: '/problems/:type',
    operationId: 'readProblemType',
    summary: 'What a problem type means, and what to do',
    description: 'A page for browsers, JSON for other clients.',
    reply: ProblemType,
    responses: { 200: PROBLEM_TYPE },
    problems: [404],
    handler: () => explainProblem,
  }),
  systemRoute({
    path: '/openapi.json',
    operationId: 'readOpenApi',
    summary: 'This document',
    reply: Document,
    responses: { 200: content('application/json', schemaOf(Document, 'output', {}), { openapi: '3.1.0', info: { title: 'Annals' } }) },
    handler: (deps) => () => jsonOf(deps.openapi()),
  }),
  systemRoute({
    path: '/llms.txt',
    operationId: 'readLlmsText',
    summary: 'An overview for language models',
    description: 'Where the documents are, and one line for each operation, as llmstxt.org describes it.',
    responses: { 200: content('text/plain', { type: 'string' }, '# Annals\n') },
    handler: (deps) => () => textOf(llmsText(deps.openapi() as ApiDocument), 'text/plain'),
  }),
  systemRoute({
    path: '/docs.md',
    operationId: 'readMarkdownDocs',
    summary: 'The API reference in Markdown',
    responses: { 200: content('text/markdown', { type: 'string' }, '# Annals\n') },
    handler: (deps) => () => textOf(markdownDocs(deps.openapi() as ApiDocument), 'text/markdown'),
  }),
  systemRoute({
    path: '/asyncapi.json',
    operationId: 'readAsyncApi',
    summary: 'The AsyncAPI document',
    description: 'It describes the messages that runners receive.',
    reply: Document,
    responses: { 200: content('application/json', schemaOf(Document, 'output', {}), { asyncapi: '3.0.0', info: { title: 'Annals' } }) },
    handler: (deps) => () => jsonOf(deps.asyncapi()),
  }),
  systemRoute({
    path: '/docs',
    operationId: 'readDocs',
    summary: 'The API reference as a web page',
    responses: { 200: content('text/html') },
    handler: () => () =>
      new Response(PAGE, { headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': CONTENT_SECURITY_POLICY } }),
  }),
  systemRoute({
    path: '/docs/scalar.js',
    operationId: 'readDocsScript',
    summary: 'The script that renders the API reference',
    responses: { 200: SCRIPT_CONTENT, 304: { description: 'The script matches the ETag in If-None-Match' } },
    handler: (deps) => async (c) => {
      const { gzip, etag } = await deps.docsScript();
      const headers = { 'content-type': SCRIPT, 'content-encoding': 'gzip', etag, 'cache-control': 'public, max-age=86400' };
      if (matchesIfNoneMatch(c.req.header('if-none-match'), etag)) return new Response(null, { status: 304, headers });
      return new Response(gzip, { headers });
    },
  }),
  systemRoute({
    path: '/docs/boot.js',
    operationId: 'readDocsStart',
    summary: 'The script that starts the API reference',
    responses: { 200: SCRIPT_CONTENT },
    handler: () => () => new Response(BOOT_SCRIPT, { headers: { 'content-type': SCRIPT } }),
  }),
]);
