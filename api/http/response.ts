import type { Context } from 'hono';
import type { Loaded } from '../../commands/context.ts';
import { tokenOf } from '../../domain/event.ts';
import { notFound } from '../../domain/refusal.ts';
import { etagOf, matchesIfNoneMatch } from './etag.ts';
import { expandPath } from './expand-path.ts';
import type { LoadedPage, Operation, Read, SecretRead } from './operation.ts';

const nextLink = (url: string, cursor: string): string => {
  const next = new URL(url);
  next.searchParams.set('cursor', cursor);
  return `<${next.pathname}${next.search}>; rel="next"`;
};

/**
 * Creates a JSON response with a Content-Length, from which the middleware decides whether to compress the response.
 */
export const jsonResponse = (body: string, status: number, headers: Record<string, string> = {}): Response =>
  new Response(body, {
    status,
    headers: {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      ...headers,
    },
  });

const isNotModified = (c: Context, etag: string | undefined, { noConditionalGet }: Operation): boolean =>
  !noConditionalGet && matchesIfNoneMatch(c.req.header('if-none-match'), etag);

/** Creates the response to a read whose data come from the read models. @throws Refusal not_found */
export const readResponse = (c: Context, row: Operation, answer: Read, position: string | null): Response => {
  const headers: Record<string, string> = position ? { 'projection-position': position } : {};
  if (answer === null) throw notFound();
  if ('doc' in answer) {
    if (answer.revision !== null) headers.etag = etagOf(answer.revision);
    if (isNotModified(c, headers.etag, row)) return new Response(null, { status: 304, headers });
    return jsonResponse(answer.doc, row.status ?? 200, headers);
  }
  if (answer.position && !position) headers['projection-position'] = tokenOf(answer.position);
  if (answer.next !== null) headers.link = nextLink(c.req.url, answer.next);
  if (answer.total !== undefined) headers['total-count'] = String(answer.total);
  if (answer.hidden !== undefined) headers['hidden-count'] = String(answer.hidden);
  return jsonResponse(answer.body, row.status ?? 200, headers);
};

export type MutationRow = Pick<Operation, 'noETag' | 'reply' | 'location' | 'status' | 'headers'>;

/** Creates the response to a mutation. Its body shows the state after the mutation. */
export const mutationResponse = (row: MutationRow, params: Record<string, string>, loaded: Loaded<unknown>): Response => {
  const headers: Record<string, string> = row.noETag ? {} : { etag: etagOf(loaded.revision) };
  if (loaded.position) headers['consistency-token'] = tokenOf(loaded.position);
  if (!row.reply || loaded.state === null) return new Response(null, { status: 204, headers });
  if (row.headers) Object.assign(headers, row.headers(loaded.state));
  if (row.location) headers.location = expandPath(row.location, params, loaded.state);
  return jsonResponse(JSON.stringify(row.reply.parse(loaded.state)), loaded.existed ? 200 : (row.status ?? 200), headers);
};

/**
 * Creates the response to a read whose result is a folded state. `resolved` is the token of the position up to which
 * the state was read, if it is known before the read.
 */
export const stateResponse = (
  c: Context,
  row: Operation,
  { state, revision, position, next }: LoadedPage,
  resolved: string | null,
): Response => {
  const token = resolved ?? (position && tokenOf(position));
  const etag = row.noETag ? undefined : etagOf(revision);
  const headers: Record<string, string> = { ...(token ? { 'projection-position': token } : {}), ...(etag ? { etag } : {}) };
  if (next) headers.link = nextLink(c.req.url, next);
  if (isNotModified(c, etag, row)) return new Response(null, { status: 304, headers });
  return jsonResponse(JSON.stringify(row.reply!.parse(state)), 200, headers);
};

/**
 * Creates the response to a read that shows secrets, and records the read. If the client already has the body, the
 * response is 304 and nothing is recorded.
 */
export const secretResponse = async (c: Context, { body, etag, position, record }: SecretRead): Promise<Response> => {
  const headers = { etag, 'projection-position': position };
  if (matchesIfNoneMatch(c.req.header('if-none-match'), etag)) return new Response(null, { status: 304, headers });
  await record();
  return jsonResponse(body, 200, headers);
};
