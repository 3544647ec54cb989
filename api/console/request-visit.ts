import type { Context, Hono } from 'hono';
import { getCookie } from 'hono/cookie';
import type { Rows } from '../areas.ts';
import { type Ask, type Call, createAsk, type Send } from '../http/ask.ts';
import { isRead } from '../http/operation.ts';
import type { Guides } from './guides.ts';
import type { NameCache } from './name-cache.ts';
import { zoneNamed } from './parts/local-time.ts';
import { pastTime } from './past-time.ts';
import { type Freshness, type Me, THEMES, type Theme, type Visit } from './visit.ts';

export const THEME_COOKIE = 'annals_theme';
export const ZONE_COOKIE = 'annals_zone';
/** The cookie of a browser to which its time zone was offered. `zone-offer.mjs` sets it. */
const ZONE_OFFERED_COOKIE = 'annals_zone_offered';
/** The cookie whose value is `off` if keys must not act without a modifier key. */
export const KEYS_COOKIE = 'annals_keys';

/**
 * The headers that are copied from the visitor's request to the API calls. So the calls are authorized and recorded
 * like requests of the visitor.
 */
const REPEATED_HEADERS = ['cookie', 'host', 'origin', 'sec-fetch-site', 'user-agent', 'x-forwarded-for', 'forwarded', 'via', 'traceparent'];

/** The values that the application passes to the console with each request. */
export type ConsoleEnv = {
  readonly incoming?: { readonly socket?: unknown };
  /** The id of the visitor's request. The API calls of the page use the same id. */
  readonly requestId: string;
};

const CONSISTENCY_TOKEN = /^\d{1,20}:\d{1,20}$/;

type Sent = Omit<Parameters<Send>[0], 'body'> & { readonly body?: string | ReadableStream<Uint8Array> };

/** Creates the function that calls the API within this process, with the visitor's own cookie. */
export const sendAsVisitor =
  (app: Pick<Hono, 'request'>, c: Context): ((request: Sent) => ReturnType<Send>) =>
  async ({ method, path, body, headers }) => {
    const { incoming, requestId } = c.env as ConsoleEnv;
    const repeated = REPEATED_HEADERS.flatMap((name) => {
      const value = c.req.header(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    const sent = { ...Object.fromEntries(repeated), 'x-request-id': requestId, ...headers };
    const env = incoming ? { incoming: { headers: sent, socket: incoming.socket } } : undefined;
    // A stream needs `duplex`, which the type does not have.
    const init = { method, headers: sent, ...(body === undefined ? {} : { body, duplex: 'half' }) } as RequestInit;
    return app.request(path, init, env);
  };

/** Whether an open page requests itself again to update itself. */
export const isRefresh = (c: Context): boolean => c.req.header('x-console-refresh') !== undefined;

/** Returns the consistency token of the change that the page must show; empty if there is none. */
export const tokenOf = (c: Context): string => {
  const token = c.req.header('consistency-token') ?? c.req.query('after') ?? '';
  return CONSISTENCY_TOKEN.test(token) ? token : '';
};

export const themeOf = (c: Context): Theme => {
  const chosen = getCookie(c, THEME_COOKIE);
  return THEMES.find((theme) => theme === chosen) ?? 'system';
};

/** Returns the time zone of a request: that in its URL, or else the saved one. If there is no such zone, it is UTC. */
const zoneOf = (c: Context, query: URLSearchParams): Pick<Visit, 'zone' | 'unknownZone'> => {
  const asked = query.get('zone') ?? savedZone(c);
  const zone = zoneNamed(asked);
  return { zone: zone ?? 'UTC', unknownZone: zone === null ? asked : null };
};

/** Returns the name of the time zone that the visitor has chosen; by default, UTC. */
export const savedZone = (c: Context): string => getCookie(c, ZONE_COOKIE) ?? 'UTC';

const zoneOfferOf = (c: Context): Visit['zoneOffer'] => {
  if (c.req.query('zone') !== undefined || getCookie(c, ZONE_COOKIE) !== undefined) return null;
  if (isRefresh(c)) return 'shown';
  return getCookie(c, ZONE_OFFERED_COOKIE) === undefined ? 'new' : null;
};

export type VisitDeps = {
  readonly app: Pick<Hono, 'request'>;
  readonly rows: Rows;
  readonly origin: string;
  readonly names: NameCache;
  readonly guides: Guides;
  /** The session cookie of the request. */
  readonly session: string | undefined;
};

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/**
 * Makes the reads of a page wait until they contain a change, whose consistency token is known. After a form, the token
 * is in the query parameter `after`. When a page updates itself, the token is in the Consistency-Token header. If a
 * read has not reached the token within two seconds, it returns the state that there is.
 */
const afterChange = (ask: Ask, token: string, freshness: Mutable<Freshness>): Ask => {
  if (token === '') return ask;
  return async (row, sent, options) => {
    if (!isRead(row) || freshness.missedToken !== null) return ask(row, sent, options);
    const answer = await ask(row, sent, { headers: { 'consistency-token': token, ...options?.headers } });
    if (answer.ok || answer.problem.code !== 'not_caught_up') return answer;
    freshness.missedToken = token;
    return ask(row, sent, options);
  };
};

/** Remembers how far the data of a page is behind the log: as far as the answer that is the furthest behind. */
const measuring =
  (ask: Ask, freshness: Mutable<Freshness>): Ask =>
  async (row, sent, options) => {
    const answer = await ask(row, sent, options);
    freshness.behindSeconds = Math.max(freshness.behindSeconds, answer.behindSeconds);
    return answer;
  };

/**
 * Makes reads return the state at a past time. A read that does not support this returns the present state, and
 * `onPresent` is called with its summary.
 */
const atTime = (ask: Ask, asOf: string | null, onPresent: (summary: string) => void): Ask => {
  if (asOf === null) return ask;
  return (row, sent, options) => {
    const fields = (row.query as { readonly shape?: object } | undefined)?.shape ?? {};
    if (!isRead(row) || Object.hasOwn(sent, 'as_of')) return ask(row, sent, options);
    if (Object.hasOwn(fields, 'as_of')) return ask(row, { ...sent, as_of: asOf }, options);
    // This read only serves the page header, which always shows the present.
    if (row.path !== '/me') onPresent(row.summary);
    return ask(row, sent, options);
  };
};

/**
 * Makes equal reads of one request share an answer, so that a page which needs a resource in two places reads it once.
 * After a change, resources are read again.
 */
const sharingReads = (ask: Ask): Ask => {
  const answers = new Map<string, ReturnType<Ask>>();
  return ((row, sent, options) => {
    if (!isRead(row)) answers.clear();
    if (!isRead(row) || options) return ask(row, sent, options);
    const key = `${row.method} ${row.path} ${JSON.stringify(sent)}`;
    const answer = answers.get(key) ?? ask(row, sent);
    answers.set(key, answer);
    return answer;
  }) as Ask;
};

/** Creates a visit: the data about a request for a page. The visitor is still missing. */
export const visitOf = (c: Context, { app, rows, origin, names, guides, session = '' }: VisitDeps): Visit => {
  const url = new URL(c.req.url);
  const calls: Call[] = [];
  const present: string[] = [];
  const { zone, unknownZone } = zoneOf(c, url.searchParams);
  const asOf = pastTime(url.searchParams.get('as_of') ?? '', Date.now(), zone);
  const freshness = { behindSeconds: 0, missedToken: null };
  const ask = measuring(
    createAsk(sendAsVisitor(app, c), (call) => calls.push(call)),
    freshness,
  );
  return {
    path: url.pathname,
    url: `${url.pathname}${url.search}`,
    params: c.req.param() as Record<string, string>,
    query: url.searchParams,
    asOf,
    presentReads: present,
    me: null,
    tenant: null,
    breakGlass: null,
    may: () => false,
    ask: sharingReads(
      afterChange(
        atTime(ask, asOf, (summary) => present.push(summary)),
        tokenOf(c),
        freshness,
      ),
    ),
    rows,
    calls,
    theme: themeOf(c),
    singleKeys: getCookie(c, KEYS_COOKIE) !== 'off',
    zone,
    unknownZone,
    zoneOffer: zoneOfferOf(c),
    degraded: [],
    freshness,
    navCounts: null,
    nameCache: { cache: names, session, isRefresh: isRefresh(c) },
    guides,
    origin,
    requestId: (c.env as ConsoleEnv).requestId,
  };
};

const breakGlassOf = ({ break_glass }: Me, tenant: Visit['tenant']): Visit['breakGlass'] =>
  break_glass && !tenant ? { ...break_glass, isOpen: Date.parse(break_glass.until) > Date.now() } : null;

const mayIn = (me: Me, { tenant, breakGlass }: Pick<Visit, 'tenant' | 'breakGlass'>, permission: string): boolean => {
  if (permission === 'any' || me.permissions.includes(permission)) return true;
  if (tenant) return !tenant.is_suspended && tenant.permissions.includes(permission);
  // A super-admin with break-glass access can read the tenant, but cannot change anything there. Each of these reads is
  // recorded.
  return (breakGlass?.isOpen ?? false) && permission.endsWith(':read');
};

/**
 * Adds the signed-in user to a visit: their data, the tenant of the page, and the function that checks their
 * permissions.
 */
export const withVisitor = (visit: Visit, me: Me): Visit => {
  const tenant = me.tenants.find(({ id }) => id === visit.params.tenant_id) ?? null;
  const breakGlass = breakGlassOf(me, tenant);
  return { ...visit, me, tenant, breakGlass, may: (permission) => mayIn(me, { tenant, breakGlass }, permission) };
};
