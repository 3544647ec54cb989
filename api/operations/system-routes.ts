import type { Context, Hono } from 'hono';
import { Refusal } from '../../domain/refusal.ts';
import { matchesIfNoneMatch } from '../http/etag.ts';
import { typeAt } from '../http/problem.ts';
import { json } from '../http/response.ts';
import { boot, page, policy } from './docs-page.ts';

/** What the platform says of itself. `degraded` names what is down though deliveries are still accepted. */
export type Readiness = { readonly ready: boolean; readonly degraded: readonly string[] };

export type SystemDeps = {
  readonly readiness: () => Promise<Readiness>;
  readonly metrics: () => Promise<{ contentType: string; text: string }>;
  /** Whether this caller may read the metrics: on the same machine, or with the token. */
  readonly mayReadMetrics: (c: Context) => boolean;
  readonly openapi: () => unknown;
  readonly asyncapi: () => unknown;
  /** Scalar's page script, as it came with its package; already gzipped. */
  readonly docsScript: () => Promise<{ gzip: Uint8Array<ArrayBuffer>; etag: string }>;
};

const said = (body: unknown, status = 200): Response => json(JSON.stringify(body), status);

/** Liveness, readiness, metrics and the documents, in plain Hono: they take no credential and answer no resource. */
export const system = (app: Hono, deps: SystemDeps): void => {
  app.get('/livez', () => said({ status: 'live' }));
  app.get('/readyz', async () => {
    const { ready, degraded } = await deps.readiness();
    return said({ status: ready ? 'ready' : 'not ready', degraded }, ready ? 200 : 503);
  });
  app.get('/metrics', async (c) => {
    if (!deps.mayReadMetrics(c)) throw new Refusal('unauthorized', 'metrics are for this machine, or for the bearer of METRICS_TOKEN');
    const { contentType, text } = await deps.metrics();
    return new Response(text, { headers: { 'content-type': contentType } });
  });
  app.get('/problems/:type', (c) => {
    const type = typeAt(c.req.path);
    if (!type) throw new Refusal('not_found', 'there is no such type of problems');
    return said(type);
  });
  app.get('/openapi.json', () => said(deps.openapi()));
  app.get('/asyncapi.json', () => said(deps.asyncapi()));
  app.get(
    '/docs',
    () => new Response(page, { headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy } }),
  );
  app.get('/docs/boot.js', () => new Response(boot, { headers: { 'content-type': 'text/javascript; charset=utf-8' } }));
  app.get('/docs/scalar.js', async (c) => {
    const { gzip, etag } = await deps.docsScript();
    const headers = {
      'content-type': 'text/javascript; charset=utf-8',
      'content-encoding': 'gzip',
      etag,
      'cache-control': 'public, max-age=86400',
    };
    if (matchesIfNoneMatch(c.req.header('if-none-match'), etag)) return new Response(null, { status: 304, headers });
    return new Response(gzip, { headers });
  });
};

const as = (media: string, schema: unknown = { type: media.endsWith('json') ? 'object' : 'string' }) => ({
  content: { [media]: { schema } },
});

const open = (operationId: string, summary: string, content: object, others: object = {}, parameters: object[] = []) => ({
  get: {
    operationId,
    summary,
    security: [],
    tags: ['System'],
    ...(parameters.length > 0 ? { parameters } : {}),
    responses: { 200: { description: summary, ...content }, ...others },
  },
});

const status = { type: 'object', required: ['status'], properties: { status: { type: 'string' } } };
const readiness = as('application/json', {
  type: 'object',
  required: ['status', 'degraded'],
  properties: { status: { enum: ['ready', 'not ready'] }, degraded: { type: 'array', items: { type: 'string' } } },
});
const problemType = as('application/json', {
  type: 'object',
  required: ['type', 'code', 'status', 'title'],
  properties: { type: { type: 'string' }, code: { type: 'string' }, status: { type: 'integer' }, title: { type: 'string' } },
});
const script = as('text/javascript');
const problem = { default: { $ref: '#/components/responses/Problem' } };

/** How the routes above stand in the OpenAPI document. */
export const systemPaths = {
  '/livez': open('isLive', 'Whether the process is alive', as('application/json', status)),
  '/readyz': open('isReady', 'Whether deliveries can be accepted, and what is degraded', readiness, {
    503: { description: 'They can not', ...readiness },
  }),
  '/metrics': open('readMetrics', 'Prometheus metrics, for this machine or the bearer of METRICS_TOKEN', as('text/plain'), problem),
  '/problems/{type}': open('readProblemType', 'What the type of a problem means', problemType, problem, [
    { name: 'type', in: 'path', required: true, schema: { type: 'string' } },
  ]),
  '/openapi.json': open('readOpenApi', 'This document', as('application/json')),
  '/asyncapi.json': open('readAsyncApi', 'The messages to runners', as('application/json')),
  '/docs': open('readDocs', 'The API as a page', as('text/html')),
  '/docs/scalar.js': open('readDocsScript', "The page's script", script),
  '/docs/boot.js': open('readDocsStart', 'What starts the page', script),
};
