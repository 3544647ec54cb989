import type { Context, Hono } from 'hono';
import type { Rows } from '../areas.ts';
import { type Problem, problemOf } from '../http/ask.ts';
import type { Operations } from '../http/operation.ts';
import type { SignInCookies } from '../identity/sign-in-cookies.ts';
import { readDegraded } from './degraded-strip.ts';
import { problemContent } from './error-page.ts';
import { type Framed, framed, plainDocument } from './frame.ts';
import type { Guides } from './guides.ts';
import { SECURITY_HEADERS } from './headers.ts';
import { retryOf } from './live.ts';
import type { NameCache } from './name-cache.ts';
import { countingIn } from './nav-counts.ts';
import { entryAt, mayAtPath } from './navigation.ts';
import type { Page } from './page.ts';
import { isTemporary } from './parts/problem-panel.ts';
import type { Child } from './parts/tags.ts';
import { type ConsoleEnv, isRefresh, sendAsVisitor, tokenOf, visitOf, withVisitor } from './request-visit.ts';
import type { Visit } from './visit.ts';

export type ConsoleDeps = {
  /** The API, whose operations the console calls. */
  readonly app: Pick<Hono, 'request'>;
  readonly operations: Operations;
  readonly pages: readonly Page[];
  readonly cookies: Pick<SignInCookies, 'origin' | 'session'>;
  readonly names: NameCache;
  readonly guides: Guides;
  /** Whether people can sign in at an OpenID issuer. */
  readonly hasIssuer: boolean;
  /** The URL path below which the assets are served. */
  readonly assets: string;
  /** Returns the API's answer to a request that has failed with this error. Logs an unexpected error. */
  readonly answerFailure: (error: unknown, c: Context) => Response;
};

export type Frame = Framed;

const TENANT_ID = /^c[0-9a-z]{24}$/;

export const SIGN_IN = '/console/sign-in';

/** The problem of a browser that has no session cookie any more. */
const SIGNED_OUT: Problem = {
  type: '/problems/unauthorized',
  title: 'Authentication is required',
  status: 401,
  detail: 'This browser was signed out',
  code: 'unauthorized',
  request_id: '',
};

/**
 * Returns `text` if it is the path of a console page; otherwise, the path of the start page. So the result cannot lead
 * to another host.
 */
export const consolePath = (text: string | null | undefined): string =>
  text && /^\/console(?:[/?][\x21-\x7e]*)?$/.test(text) && !text.startsWith('/console//') ? text : '/console';

/** The pages before the sign-in: their URLs have the codes of links and the tokens of invitations in their fragments. */
const HAS_SECRET = /^\/console\/(?:sign-in|in|invitation)(?:\/|$)/;

export const htmlResponse = (c: Context, text: string, status: number): Response =>
  c.body(text, status as 200, {
    ...SECURITY_HEADERS,
    ...(HAS_SECRET.test(c.req.path) ? { 'referrer-policy': 'no-referrer' } : {}),
    'content-type': 'text/html; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
  });

/** Answers with a page for a signed-in visitor, in the frame with the navigation and its counts. */
export const framedResponse = async (
  c: Context,
  { assets }: Pick<ConsoleDeps, 'assets'>,
  visit: Visit,
  { status = 200, ...frame }: Frame & { readonly status?: number },
): Promise<Response> => {
  await visit.navCounts?.ready;
  return htmlResponse(c, framed(assets, visit, frame), status);
};

export const redirect = (c: Context, location: string, cookies: readonly string[] = []): Response => {
  const response = c.body(null, 303, { ...SECURITY_HEADERS, location });
  for (const cookie of cookies) response.headers.append('set-cookie', cookie);
  return response;
};

/** Returns the URL of the page with a form that was sent: of a form of an operation, or of the session to which a file was added. */
const formUrl = ({ path, params: { operation, ...ids } }: Visit): string =>
  operation === undefined ? path.replace(/\/files$/, '') : `${path}?${new URLSearchParams(ids)}`;

/**
 * Redirects to the sign-in page, which leads back to the page. If a form was sent, it leads back to the form, and says
 * that nothing was saved.
 */
export const signInAgain = (c: Context, visit: Visit, hadSession: boolean): Response => {
  const isForm = c.req.method !== 'GET';
  const ended: Record<string, string> = isForm ? { ended: 'form' } : hadSession ? { ended: '1' } : {};
  return redirect(c, `${SIGN_IN}?${new URLSearchParams({ return_to: isForm ? formUrl(visit) : visit.url, ...ended })}`);
};

/** Why a page cannot be shown, and what is shown below the problem. */
type Failure = { readonly problem: Problem; readonly more?: readonly Child[] };

/** Returns the page from which a form was sent; null if it is not known. A page that was only opened can be opened again. */
const cameFrom = (c: Context, { origin }: Visit): string | null => {
  if (c.req.method === 'GET') return null;
  const from = c.req.header('referer') ?? '';
  if (!URL.canParse(from)) return '/console';
  const { pathname, search, host } = new URL(from);
  return host === new URL(origin).host || host === c.req.header('host') ? consolePath(`${pathname}${search}`) : '/console';
};

/**
 * Answers a request that has failed because of a problem. The frame of the page stays. If it is not known who the visitor
 * is, its navigation follows from the URL. The page tries again by itself until the problem is over.
 */
const failedResponse = (c: Context, { assets, cookies }: ConsoleDeps, visit: Visit, { problem, more = [] }: Failure): Response => {
  const live = c.req.method === 'GET' && isTemporary(problem) ? retryOf(visit, true) : null;
  const isSignedIn = cookies.session(c) !== undefined;
  const content = problemContent(visit, problem, { isRetried: live !== null, back: cameFrom(c, visit), more, isSignedIn });
  if (!isSignedIn) return htmlResponse(c, plainDocument(assets, visit, problem.title, ...content), problem.status);
  const frame = { title: 'Not available', nav: entryAt(visit), trail: [], content, live };
  return htmlResponse(c, framed(assets, visit.me === null ? { ...visit, may: mayAtPath(visit) } : visit, frame), problem.status);
};

/** Returns the visit of a request, in which the visitor is still missing. */
export const requestedVisit = (c: Context, { app, operations, cookies, names, guides }: ConsoleDeps): Visit =>
  visitOf(c, { app, rows: operations as unknown as Rows, origin: cookies.origin, names, guides, session: cookies.session(c) });

/** Refuses a request for a page with a problem that no operation of the API has returned. */
export const refuse = (
  c: Context,
  deps: ConsoleDeps,
  problem: Pick<Problem, 'status' | 'title' | 'detail' | 'code'>,
  visit: Visit = requestedVisit(c, deps),
): Response => failedResponse(c, deps, visit, { problem: { type: '', request_id: '', ...problem } });

/** Answers a request for a page whose handler has thrown an error: with a page that shows the problem. */
export const answerError = async (error: unknown, c: Context, deps: ConsoleDeps): Promise<Response> => {
  c.set('requestId', (c.env as ConsoleEnv).requestId);
  return failedResponse(c, deps, requestedVisit(c, deps), { problem: await problemOf(deps.answerFailure(error, c)) });
};

/**
 * Answers a request without a valid session. A page that updates itself gets the reason, and shows it. Any other request
 * is redirected to the sign-in page, which shows the reason, too.
 */
export const endedResponse = (c: Context, visit: Visit, problem: Problem): Response =>
  isRefresh(c)
    ? c.body(JSON.stringify(problem), 401, { ...SECURITY_HEADERS, 'content-type': 'application/problem+json' })
    : signInAgain(c, visit, true);

/**
 * Identifies the visitor. `params` are parameters of the page in addition to those in its path. If nobody is signed in,
 * or the API cannot say who is, the result is the response that ends the request. In the second case, `whenDown` returns
 * what the response shows below the problem.
 */
export const identify = async (
  c: Context,
  deps: ConsoleDeps,
  params: Readonly<Record<string, string>> = {},
  whenDown?: Page['whenDown'],
): Promise<Visit | Response> => {
  const { app, cookies } = deps;
  const requested = requestedVisit(c, deps);
  const known = { ...requested, params: { ...requested.params, ...params } };
  if (cookies.session(c) === undefined) return isRefresh(c) ? endedResponse(c, known, SIGNED_OUT) : signInAgain(c, known, false);
  const { tenant_id = '' } = known.params;
  const [me, degraded] = await Promise.all([
    known.ask(known.rows.readMe, TENANT_ID.test(tenant_id) ? { tenant_id } : {}),
    readDegraded(app),
  ]);
  const visit = { ...known, degraded };
  if (me.ok) return countingIn(withVisitor(visit, me.value), sendAsVisitor(app, c), tokenOf(c), c.req.method === 'GET');
  if (me.problem.status === 401 || me.problem.status === 403) return endedResponse(c, visit, me.problem);
  return failedResponse(c, deps, visit, { problem: me.problem, more: (await whenDown?.(visit)) ?? [] });
};
