import type { Context, Hono } from 'hono';
import type { Problem } from '../http/ask.ts';
import type { Operations } from '../http/operation.ts';
import type { SignInCookies } from '../identity/sign-in-cookies.ts';
import type { Rows } from '../routes.ts';
import { readDegraded } from './degraded-strip.ts';
import { framed } from './frame.ts';
import { SECURITY_HEADERS } from './headers.ts';
import type { Page } from './page.ts';
import { emptyState } from './parts/empty-state.ts';
import { problemPanel } from './parts/problem-panel.ts';
import { tags } from './parts/tags.ts';
import { visitOf, withVisitor } from './request-visit.ts';
import type { Visit } from './visit.ts';

export type ConsoleDeps = {
  /** The API, whose operations the console calls. */
  readonly app: Pick<Hono, 'request'>;
  readonly operations: Operations;
  readonly pages: readonly Page[];
  readonly cookies: Pick<SignInCookies, 'origin' | 'session'>;
  /** Whether people can sign in at an OpenID issuer. */
  readonly hasIssuer: boolean;
  /** The URL path below which the assets are served. */
  readonly assets: string;
};

export type Frame = Parameters<typeof framed>[2];

const TENANT_ID = /^c[0-9a-z]{24}$/;

export const SIGN_IN = '/console/sign-in';

const { h1, a, p } = tags;

/**
 * Returns `text` if it is the path of a console page; otherwise, the path of the start page. So the result cannot lead
 * to another host.
 */
export const consolePath = (text: string | null | undefined): string =>
  text && /^\/console(?:[/?][\x21-\x7e]*)?$/.test(text) && !text.startsWith('/console//') ? text : '/console';

export const signInPath = (visit: Pick<Visit, 'url'>, hadSession: boolean): string =>
  `${SIGN_IN}?${new URLSearchParams({ return_to: visit.url, ...(hadSession ? { ended: '1' } : {}) })}`;

export const htmlResponse = (c: Context, text: string, status: number): Response =>
  c.body(text, status as 200, {
    ...SECURITY_HEADERS,
    'content-type': 'text/html; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
  });

export const redirect = (c: Context, location: string, cookies: readonly string[] = []): Response => {
  const response = c.body(null, 303, { ...SECURITY_HEADERS, location });
  for (const cookie of cookies) response.headers.append('set-cookie', cookie);
  return response;
};

export const unknownPage: Frame = {
  title: 'Not found',
  nav: '',
  trail: [],
  content: [
    h1({ class: 'hidden' }, 'Not found'),
    emptyState(
      { icon: 'search', title: 'There is no such page', why: 'It does not exist, or you have no access to it.' },
      a({ class: 'button', href: '/console' }, 'To the start'),
    ),
  ],
};

export const failedPage = (problem: Problem): Frame => ({
  title: 'Not available',
  nav: '',
  trail: [],
  content: [h1(null, 'This page is not available now'), problemPanel(problem), p(null, a({ class: 'button', href: '' }, 'Try again'))],
});

/**
 * Identifies the visitor. `params` are parameters of the page in addition to those in its path. If nobody is signed in,
 * or the API cannot say who is, the result is the response that ends the request.
 */
export const identify = async (c: Context, deps: ConsoleDeps, params: Readonly<Record<string, string>> = {}): Promise<Visit | Response> => {
  const { app, operations, cookies, assets } = deps;
  const requested = visitOf(c, { app, rows: operations as unknown as Rows, origin: cookies.origin });
  const known = { ...requested, params: { ...requested.params, ...params } };
  if (cookies.session(c) === undefined) return redirect(c, signInPath(known, false));
  const { tenant_id = '' } = known.params;
  const [me, degraded] = await Promise.all([
    known.ask(known.rows.readMe, TENANT_ID.test(tenant_id) ? { tenant_id } : {}),
    readDegraded(app),
  ]);
  const visit = { ...known, degraded };
  if (me.ok) return withVisitor(visit, me.value);
  if (me.problem.status === 401 || me.problem.status === 403) return redirect(c, signInPath(visit, true));
  return htmlResponse(c, framed(assets, visit, failedPage(me.problem)), 503);
};
