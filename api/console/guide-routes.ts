import type { Context, Hono } from 'hono';
import { matchesIfNoneMatch } from '../http/etag.ts';
import { contentsPage, type GuideDeps, guidePage, unknownGuidePage } from './guide-page.ts';
import type { GuideFile, Guides } from './guides.ts';
import { SECURITY_HEADERS } from './headers.ts';
import { themeOf } from './request-visit.ts';

/** Clients ask whether a guide has changed before they show it again. */
const REVALIDATE = 'no-cache';
const ETAG_CHARACTERS = 20;
const MAX_QUERY_CHARACTERS = 255;

type Content = { readonly body: string; readonly etag: string; readonly type: string };

const contentOf = async (body: string, type = 'text/html'): Promise<Content> => {
  const digest = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(body)));
  return { body, etag: `"${digest.toString('hex').slice(0, ETAG_CHARACTERS)}"`, type: `${type}; charset=utf-8` };
};

const contentResponse = (c: Context, { body, etag, type }: Content): Response => {
  const headers = { ...SECURITY_HEADERS, etag, 'cache-control': REVALIDATE, vary: 'Cookie' };
  if (matchesIfNoneMatch(c.req.header('if-none-match'), etag)) return c.body(null, 304, headers);
  return c.body(body, 200, { ...headers, 'content-type': type, 'content-length': String(Buffer.byteLength(body)) });
};

const fileResponse = (c: Context, { type, bytes, etag }: GuideFile): Response => {
  const headers = { ...SECURITY_HEADERS, etag, 'cache-control': REVALIDATE };
  if (matchesIfNoneMatch(c.req.header('if-none-match'), etag)) return c.body(null, 304, headers);
  return c.body(bytes, 200, { ...headers, 'content-type': type, 'content-length': String(bytes.length) });
};

const unknownResponse = (c: Context, deps: GuideDeps): Response => {
  const body = unknownGuidePage(deps);
  return c.body(body, 404, {
    ...SECURITY_HEADERS,
    'content-type': 'text/html; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
  });
};

/**
 * Adds the routes of the guides: the documentation of this version, for everybody, also without a session. A guide with
 * `.md` after its name is its text in Markdown. Pages are rendered at their first request, which takes some milliseconds.
 */
export const mountGuides = (app: Hono, { assets, guides }: { readonly assets: string; readonly guides: Guides }): void => {
  const rendered = new Map<string, Promise<Content>>();
  const once = (key: string, render: () => string): Promise<Content> => {
    const content = rendered.get(key) ?? contentOf(render());
    rendered.set(key, content);
    return content;
  };
  const depsOf = (c: Context): GuideDeps => ({ assets, guides, theme: themeOf(c) });
  app.get('/guides', async (c) => {
    const deps = depsOf(c);
    const query = (c.req.query('q') ?? '')
      .replaceAll(/\p{Cc}/gu, ' ')
      .trim()
      .slice(0, MAX_QUERY_CHARACTERS);
    const page = () => contentsPage(deps, query);
    return contentResponse(c, query === '' ? await once(`${deps.theme} `, page) : await contentOf(page()));
  });
  app.get('/guides/:name', async (c, next) => {
    if (guides.files.has(c.req.param('name'))) return next();
    const deps = depsOf(c);
    const [, name = '', source] = /^([^.]*)(\.md)?$/.exec(c.req.param('name')) ?? [];
    const guide = guides.all.get(name);
    if (!guide) return unknownResponse(c, deps);
    if (source) return contentResponse(c, await contentOf(guide.text, 'text/markdown'));
    return contentResponse(c, await once(`${deps.theme} ${name}`, () => guidePage(deps, guide)));
  });
  app.get('/guides/*', (c) => {
    const file = guides.files.get(c.req.path.slice('/guides/'.length));
    return file ? fileResponse(c, file) : unknownResponse(c, depsOf(c));
  });
};
