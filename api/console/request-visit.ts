import type { Context, Hono } from 'hono';
import { getCookie } from 'hono/cookie';
import { type Ask, type Call, createAsk, type Send } from '../http/ask.ts';
import { isRead } from '../http/operation.ts';
import { pastTime } from './past-time.ts';
import type { Rows } from './rows.ts';
import { type Me, THEMES, type Theme, type Visit } from './visit.ts';

export const THEME_COOKIE = 'annals_theme';

/**
 * The headers of the visitor's request that are copied to the calls of operations, so that these are authorized and
 * recorded like requests of the visitor.
 */
const REPEATED_HEADERS = ['cookie', 'origin', 'sec-fetch-site', 'user-agent', 'x-forwarded-for', 'forwarded', 'via', 'traceparent'];

/** The values that the application passes to the handlers of the console with a request. */
export type ConsoleEnv = {
  readonly incoming?: { readonly socket?: unknown };
  /** The id of the visitor's request. The API calls of the page have the same id. */
  readonly requestId: string;
};

/** Creates the function that calls the API within this process, with the visitor's own cookie. */
export const sendAsVisitor =
  (app: Pick<Hono, 'request'>, c: Context): Send =>
  async ({ method, path, body, headers }) => {
    const { incoming, requestId } = c.env as ConsoleEnv;
    const repeated = REPEATED_HEADERS.flatMap((name) => {
      const value = c.req.header(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    const sent = { ...Object.fromEntries(repeated), 'x-request-id': requestId, ...headers };
    const env = incoming ? { incoming: { headers: sent, socket: incoming.socket } } : undefined;
    return app.request(path, { method, headers: sent, ...(body === undefined ? {} : { body }) }, env);
  };

export const themeOf = (c: Context): Theme => {
  const chosen = getCookie(c, THEME_COOKIE);
  return THEMES.find((theme) => theme === chosen) ?? 'system';
};

export type VisitDeps = { readonly app: Pick<Hono, 'request'>; readonly rows: Rows; readonly origin: string };

const CONSISTENCY_TOKEN = /^\d{1,20}:\d{1,20}$/;

/**
 * Makes the reads wait until they show a change: the one after which the browser was led to the page, whose token is in
 * the parameter `after`, or the one because of which a page is refreshed, whose token is in the Consistency-Token header.
 */
const afterChange = (ask: Ask, query: URLSearchParams, header: string | undefined): Ask => {
  const token = header ?? query.get('after') ?? '';
  if (!CONSISTENCY_TOKEN.test(token)) return ask;
  return (row, sent, options) => ask(row, sent, isRead(row) ? { headers: { 'consistency-token': token, ...options?.headers } } : options);
};

/**
 * Makes reads return the state at a time in the past, if they support that. `onPresent` is called with the summaries of
 * the others.
 */
const atTime = (ask: Ask, asOf: string | null, onPresent: (summary: string) => void): Ask => {
  if (asOf === null) return ask;
  return (row, sent, options) => {
    const fields = (row.query as { readonly shape?: object } | undefined)?.shape ?? {};
    if (!isRead(row) || Object.hasOwn(sent, 'as_of')) return ask(row, sent, options);
    if (Object.hasOwn(fields, 'as_of')) return ask(row, { ...sent, as_of: asOf }, options);
    // The identity of the visitor is only shown in the header, which always shows the present.
    if (row.path !== '/me') onPresent(row.summary);
    return ask(row, sent, options);
  };
};

/** Creates the visit (the data about the request for a page) without the visitor. */
export const visitOf = (c: Context, { app, rows, origin }: VisitDeps): Visit => {
  const url = new URL(c.req.url);
  const calls: Call[] = [];
  const present: string[] = [];
  const asOf = pastTime(url.searchParams.get('as_of') ?? '', Date.now());
  const ask = createAsk(sendAsVisitor(app, c), (call) => calls.push(call));
  return {
    path: url.pathname,
    url: `${url.pathname}${url.search}`,
    params: c.req.param() as Record<string, string>,
    query: url.searchParams,
    asOf,
    presentReads: present,
    me: null,
    tenant: null,
    may: () => false,
    ask: afterChange(
      atTime(ask, asOf, (summary) => present.push(summary)),
      url.searchParams,
      c.req.header('consistency-token'),
    ),
    rows,
    calls,
    theme: themeOf(c),
    origin,
    requestId: (c.env as ConsoleEnv).requestId,
  };
};

const mayIn = (me: Me, tenant: Visit['tenant'], permission: string): boolean => {
  if (permission === 'any' || me.permissions.includes(permission)) return true;
  if (tenant) return tenant.permissions.includes(permission);
  // A super-admin can open any tenant for reading, but change nothing in it. Each such read is recorded.
  return me.permissions.includes('platform') && permission.endsWith(':read');
};

/**
 * Adds the signed-in user to a visit: their data, the tenant that they look at, and the function that checks their
 * permissions.
 */
export const withVisitor = (visit: Visit, me: Me): Visit => {
  const tenant = me.tenants.find(({ id }) => id === visit.params.tenant_id) ?? null;
  return { ...visit, me, tenant, may: (permission) => mayIn(me, tenant, permission) };
};
