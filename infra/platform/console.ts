import type { Context, Hono } from 'hono';
import { SECURITY_HEADERS } from '../../api/console/headers.ts';
import type { Operations } from '../../api/http/operation.ts';
import { STATIC_PAGE_POLICY } from '../../api/http/problem-html.ts';
import type { SignInCookies } from '../../api/identity/sign-in-cookies.ts';
import { consoleFailurePage } from '../../api/operations/console-failure-page.ts';
import { createLruMap } from '../lru-map.ts';

/** The number of lists of names in the cache for open pages. One takes about 30 kB if it has 200 names. */
const MAX_CACHED = 100;

/** The console answers each method, so that a browser never gets a problem document. */
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export type ConsoleOptions = {
  readonly operations: Operations;
  readonly cookies: SignInCookies;
  readonly hasIssuer: boolean;
  /** Returns the API's answer to a request that has failed with this error. Logs an unexpected error. */
  readonly answerFailure: (error: unknown, c: Context) => Response;
};

const openConsole = async (app: Hono, options: ConsoleOptions) => {
  const [{ createConsole }, { consolePages }, { openGuides }, { loadConsoleAssets }, { loadGuideFiles }] = await Promise.all([
    import('../../api/console-routes.ts'),
    import('../../api/console-pages.ts'),
    import('../../api/console/guides.ts'),
    import('../http/console-assets.ts'),
    import('../http/guide-files.ts'),
  ]);
  const [assets, guideFiles] = await Promise.all([loadConsoleAssets(), loadGuideFiles()]);
  return {
    assets,
    ...createConsole({
      app,
      pages: consolePages,
      assets: assets.base,
      names: createLruMap({ capacity: MAX_CACHED }),
      guides: openGuides(guideFiles),
      ...options,
    }),
  };
};

type Asset = NonNullable<ReturnType<Awaited<ReturnType<typeof openConsole>>['assets']['find']>>;

const assetResponse = (c: Context, { type, bytes, gzip }: Asset): Response => {
  const isCompressed = gzip !== null && /\bgzip\b/.test(c.req.header('accept-encoding') ?? '');
  return c.body(isCompressed ? gzip : bytes, 200, {
    ...SECURITY_HEADERS,
    'content-type': type,
    'cache-control': 'public, max-age=31536000, immutable',
    ...(gzip === null ? {} : { vary: 'Accept-Encoding' }),
    ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
  });
};

/** Answers with a page, because a person in a browser asks, whatever has failed. `answerFailure` logs the error. */
const failureResponse = (error: unknown, c: Context, { answerFailure }: ConsoleOptions): Response => {
  const { status } = answerFailure(error, c);
  return c.body(consoleFailurePage(c.get('requestId') ?? ''), status as 500, {
    ...SECURITY_HEADERS,
    'content-security-policy': STATIC_PAGE_POLICY,
    'content-type': 'text/html; charset=utf-8',
  });
};

/** Modules and assets are loaded at the first request for a page: they do not slow down the start, and take no memory before. */
export const mountConsole = (app: Hono, options: ConsoleOptions, load: typeof openConsole = openConsole): void => {
  let opened: ReturnType<typeof openConsole> | undefined;
  const open = () => {
    opened ??= load(app, options).catch((error) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  const answer = async (c: Context): Promise<Response> => {
    const { assets, fetch } = await open();
    const asset = c.req.method === 'GET' || c.req.method === 'HEAD' ? assets.find(c.req.path) : null;
    if (asset) return assetResponse(c, asset);
    const { incoming } = (c.env ?? {}) as { incoming?: { socket?: unknown } };
    return fetch(c.req.raw, { ...(incoming ? { incoming } : {}), requestId: c.get('requestId') });
  };
  const respond = (c: Context): Promise<Response> => answer(c).catch((error) => failureResponse(error, c, options));
  for (const path of ['/console', '/console/*', '/guides', '/guides/*']) app.on(METHODS, path, respond);
};
