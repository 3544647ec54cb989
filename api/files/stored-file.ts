import type { Context, Hono } from 'hono';
import { notFound } from '../../domain/refusal.ts';
import { benchmarkRuns } from '../../projections/benchmarks/benchmark-run.ts';
import { sessions } from '../../projections/sessions/session.ts';
import { authorizeRequest } from '../http/authorize-request.ts';
import { bytesInRange, rangeIn } from '../http/byte-range.ts';
import { matchesIfNoneMatch } from '../http/etag.ts';
import { assertNoQuery } from '../http/mount.ts';
import { documentPlainRoutes, headerParameter, mountPlainRoutes, plainRoute } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { abortOnError } from '../http/stream-response.ts';
import { findReadable } from './readable-file.ts';

const PATH = '/tenant/:tenant_id/files/:digest';

/** The value of Content-Disposition: the file is saved and not displayed. Its name is in UTF-8 (RFC 6266, RFC 8187). */
const dispositionOf = (filename: string): string => {
  const encoded = encodeURIComponent(filename).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${filename.replace(/[^\w. -]/g, '_')}"; filename*=UTF-8''${encoded}`;
};

const getFile = (runtime: Runtime) => {
  const authorize = authorizeRequest({ method: 'get', path: PATH, permit: 'tenant:read' }, runtime);
  return async (c: Context): Promise<Response> => {
    const { info, params } = await authorize(c);
    assertNoQuery(c);
    await runtime.readYourWrites.waitForOwnWrites(info.principal, [sessions.name, benchmarkRuns.name], c.req.header('consistency-token'));
    const ctx = runtime.context(info);
    const digest = params.digest!;
    const { filename, content_type } = await findReadable(ctx, digest);
    const etag = `"${digest}"`;
    if (matchesIfNoneMatch(c.req.header('if-none-match'), etag)) return c.body(null, 304, { etag });
    const blob = await ctx.blobs.get(digest);
    if (!blob) throw notFound();
    const ifRange = c.req.header('if-range');
    const range = ifRange === undefined || ifRange === etag ? rangeIn(c.req.header('range'), blob.size) : null;
    if (range === 'unsatisfiable') return c.body(null, 416, { 'content-range': `bytes */${blob.size}`, 'cache-control': 'no-store' });
    const headers = {
      'accept-ranges': 'bytes',
      'content-type': content_type === 'text/plain' ? 'text/plain; charset=utf-8' : content_type,
      'content-disposition': dispositionOf(filename),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'private, no-store',
      'content-length': String(range ? range.end - range.start + 1 : blob.size),
      ...(range && { 'content-range': `bytes ${range.start}-${range.end}/${blob.size}` }),
      etag,
    };
    const status = range ? 206 : 200;
    if (c.req.method === 'HEAD') return c.body(null, status, headers);
    const content = range ? bytesInRange(blob.content, range) : blob.content;
    return c.body(ReadableStream.from(abortOnError(c, runtime, content)) as never, status, headers);
  };
};

const routes = [
  plainRoute({
    method: 'get',
    path: PATH,
    operationId: 'getFile',
    summary: 'Download a file',
    description:
      'The digest is the SHA-256 of the file. Its type was found by its content, and browsers save it instead of displaying it. A response shorter than its `Content-Length` is incomplete. A `Range` of bytes is answered with 206.\n\nRequires the permission `agent:chat:read` on an agent with a session or a benchmark run that has the file; for a picture of the tenant, `tenant:read`.',
    tag: 'Files',
    parameters: [headerParameter('Range', 'One range of bytes, such as `bytes=0-1023`', false)],
    responses: {
      200: {
        description: 'The bytes of the file',
        headers: { ETag: { description: 'The SHA-256 of the file, for If-None-Match', schema: { type: 'string' } } },
        content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
      },
      206: {
        description: 'The range of bytes',
        headers: { 'Content-Range': { schema: { type: 'string' } } },
        content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
      },
      304: { description: 'The file matches the ETag in If-None-Match' },
      416: { description: 'The file has none of the bytes of the range' },
    },
    problems: [401, 403, 404, 409, 422, 429, 503],
    handler: getFile,
  }),
];

export const mountFiles = (app: Hono, runtime: Runtime): void => mountPlainRoutes(app, routes, runtime);
export const filePaths = documentPlainRoutes(routes);
