import type { Context } from 'hono';
import { notFound } from '../../domain/refusal.ts';
import { bytesInRange, rangeIn } from '../http/byte-range.ts';
import { matchesIfNoneMatch } from '../http/etag.ts';
import type { Ctx } from '../http/operation.ts';
import { headerParameter } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { abortOnError } from '../http/stream-response.ts';

/** A stored file and how it is shown. `digest` is the SHA-256 of its bytes. */
export type ShownFile = { readonly digest: string; readonly filename: string; readonly content_type: string };

/**
 * Returns a Content-Disposition with which a browser saves the file instead of displaying it. The filename is in UTF-8
 * (RFC 6266, RFC 8187).
 */
const dispositionOf = (filename: string): string => {
  const encoded = encodeURIComponent(filename).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${filename.replace(/[^\w. -]/g, '_')}"; filename*=UTF-8''${encoded}`;
};

/** Responds with the bytes of a stored file, or with a range of them. @throws Refusal not_found, unavailable */
export const fileResponse = async (
  c: Context,
  { runtime, ctx }: { readonly runtime: Runtime; readonly ctx: Ctx },
  { digest, filename, content_type }: ShownFile,
): Promise<Response> => {
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
  return c.body(ReadableStream.from(abortOnError(c, runtime, content)), status, headers);
};

/** The request headers that a route returning a file accepts, for the OpenAPI document. */
export const fileHeaders = [headerParameter('Range', 'One range of bytes, such as `bytes=0-1023`', false)];
const binary = { '*/*': { schema: { type: 'string', format: 'binary' } } };
export const fileResponses = {
  200: {
    description: 'The bytes of the file',
    headers: { ETag: { description: 'The SHA-256 of the file, for If-None-Match', schema: { type: 'string' } } },
    content: binary,
  },
  206: {
    description: 'The range of bytes',
    headers: { 'Content-Range': { schema: { type: 'string' } } },
    content: binary,
  },
  304: { description: 'The file matches the ETag in If-None-Match' },
  416: { description: 'The file has none of the bytes of the range' },
};
