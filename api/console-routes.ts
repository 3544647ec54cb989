import { type Context, Hono } from 'hono';
import { setCookie } from 'hono/cookie';
import {
  answerError,
  type ConsoleDeps,
  consolePath,
  endedResponse,
  type Frame,
  framedResponse,
  htmlResponse,
  identify,
  redirect,
  requestedVisit,
  SIGN_IN,
} from './console/answers.ts';
import { refusedPage } from './console/break-glass.ts';
import { nothingThenPage, suspendedPage, unknownPage, withoutPastView } from './console/error-page.ts';
import { mountForms } from './console/forms/run-form.ts';
import { framed } from './console/frame.ts';
import { mountGuides } from './console/guide-routes.ts';
import { keepingTime, keepingZone } from './console/kept-query.ts';
import { liveOf } from './console/live.ts';
import type { Page } from './console/page.ts';
import { emptyState } from './console/parts/empty-state.ts';
import { TIME_FILTERS } from './console/parts/filter-form.ts';
import { zoneNamed } from './console/parts/local-time.ts';
import { type Child, htmlOf, tags } from './console/parts/tags.ts';
import { formatIn } from './console/parts/time.ts';
import { pastTime } from './console/past-time.ts';
import { type ConsoleEnv, isRefresh, KEYS_COOKIE, sendAsVisitor, THEME_COOKIE, ZONE_COOKIE } from './console/request-visit.ts';
import { linkPage, signInPage } from './console/sign-in.ts';
import { pastTimeStrip, presentTime, readTicks, timeSlider } from './console/time-machine.ts';
import { UNKNOWN_PATH, unknownPath } from './console/unknown-path.ts';
import { platformPath, THEMES, tenantPath, type Visit, withQuery } from './console/visit.ts';
import { inZone, withoutZone, ZONE_PATH, zonePage } from './console/zone.ts';
import type { Answer, Problem } from './http/ask.ts';
import { readSmallForm } from './http/read-form.ts';
import { assertOwnPage } from './identity/sign-in-cookies.ts';
import { mountChatStart } from './sessions/console/chat-start.ts';
import { mountChatUpload } from './sessions/console/chat-upload.ts';
import { mountInvitation, showInvitation } from './tenants/console/invitation.ts';

const PREFERENCE_TTL_SECONDS = 400 * 86_400;
/** The paths whose pages have the theme that the visitor has chosen. */
const THEMED_PATHS = ['/console', '/guides'];

const { h1, a } = tags;

/** Returns the position of the event before the newest one; null if there is none. */
const eventBack = async (visit: Visit): Promise<string | null> => (await readTicks(visit))[1]?.position ?? null;

/**
 * Handles the query parameter `as_of`. Returns a redirect if it must be replaced by an exact time, or removed because
 * it means the present. Null if the page can be shown as requested.
 */
const toItsTime = async (c: Context, visit: Visit): Promise<Response | null> => {
  const wanted = visit.query.get('as_of');
  if (wanted === 'back') return redirect(c, withQuery(visit, { as_of: await eventBack(visit) }));
  if (wanted === '' || wanted === 'now') return redirect(c, withQuery(visit, { as_of: null }));
  const exact = Object.fromEntries(exactTimes(visit));
  if (visit.asOf !== null && visit.asOf !== wanted) exact.as_of = visit.asOf;
  return Object.keys(exact).length > 0 ? redirect(c, withQuery(visit, exact)) : null;
};

/**
 * Returns the filters of a page whose times are in words, such as `yesterday`, or in the visitor's time zone, with the
 * exact times by which they are replaced. So the URL shows the same page tomorrow, and to everybody.
 */
const exactTimes = ({ query, zone }: Visit): readonly (readonly [string, string])[] =>
  TIME_FILTERS.flatMap((name) => {
    const typed = query.get(name);
    const exact = typed && pastTime(typed, Date.now(), zone);
    return exact && exact !== typed ? [[name, exact] as const] : [];
  });

/**
 * Returns a redirect to the same page in the time zone that the visitor has saved. Null if the URL already has a zone,
 * or the saved one is UTC. So the URL shows the same page to everybody. An open page that updates itself is not
 * redirected: for it, a redirect means that the session has ended.
 */
const toItsZone = (c: Context, { query, zone, unknownZone, url }: Visit): Response | null =>
  isRefresh(c) || query.has('zone') || unknownZone !== null || zone === 'UTC' ? null : redirect(c, inZone(url, zone));

/** Renders a complete document whose links lead to pages in the same time zone. */
const framedInZone = (assets: string, visit: Visit, frame: Frame): string => {
  const html = framed(assets, visit, frame);
  return visit.query.has('zone') && visit.unknownZone === null ? keepingZone(html, visit.zone) : html;
};

/** Renders the complete document of a page. A page that shows the past has an amber layout. */
const inTime = async (deps: ConsoleDeps, visit: Visit, frame: Frame, position: string | null = null): Promise<string> => {
  const { asOf, query } = visit;
  await visit.navCounts?.ready;
  if (!visit.params.tenant_id) return framedInZone(deps.assets, visit, frame);
  if (asOf === null) {
    const message = query.has('as_of') ? 'This is neither a time nor a position. The page shows the present.' : null;
    return framedInZone(deps.assets, visit, { ...frame, time: presentTime(visit, message) });
  }
  const present = [...visit.presentReads];
  const ticks = await readTicks(visit);
  const time = pastTimeStrip(visit, { asOf, position, ticks, present });
  return keepingTime(framedInZone(deps.assets, visit, { ...frame, time, isPast: true }), asOf);
};

/** Answers with only the time slider of a page. An open page requests it when the visitor opens the slider. */
const showSlider = async (c: Context, { assets }: ConsoleDeps, visit: Visit): Promise<Response> =>
  htmlResponse(c, htmlOf(timeSlider(visit, await readTicks(visit)), assets, formatIn(visit.zone)), 200);

/** Returns the position of the log that the answers of a page show; null if no answer shows the past. */
const pastPositionOf = (answers: readonly (Answer<unknown> | null)[]): string | null =>
  answers.find((answer) => answer?.call.path.includes('as_of='))?.position ?? null;

const showPage = (page: Page, deps: ConsoleDeps) => async (c: Context) => {
  const visit = await identify(c, deps, {}, page.whenDown);
  if (visit instanceof Response) return visit;
  if (!visit.may(page.permit)) return framedResponse(c, deps, visit, { ...refusedPage(visit), status: 404 });
  const elsewhere = toItsZone(c, visit) ?? (await toItsTime(c, visit));
  if (elsewhere) return elsewhere;
  if (c.req.header('x-console-time') !== undefined) return showSlider(c, deps, visit);
  if (visit.asOf !== null && page.withoutPast) {
    const content = withoutPastView(visit, page.withoutPast);
    const frame = { title: page.title({}, visit), nav: page.nav, trail: page.trail?.(visit, null) ?? [], content };
    return htmlResponse(c, await inTime(deps, visit, frame), 200);
  }
  const started = Object.entries(page.asks(visit));
  const answers = Object.fromEntries(await Promise.all(started.map(async ([name, asked]) => [name, await asked] as const)));
  const main = answers[started[0]?.[0] ?? ''];
  if (main && !main.ok && main.status === 401) return endedResponse(c, visit, main.problem);
  if (main && !main.ok && main.problem.code === 'tenant_suspended')
    return framedResponse(c, deps, visit, { ...suspendedPage(visit, main.problem), status: 403 });
  if (main && !main.ok && [403, 404].includes(main.status)) {
    if (visit.asOf) return htmlResponse(c, await inTime(deps, visit, nothingThenPage(visit, withQuery(visit, { as_of: null }))), 404);
    const missing = await page.whenMissing?.(visit);
    const frame = missing && { ...missing, nav: page.nav, trail: page.trail?.(visit, null) ?? [] };
    if (frame) return htmlResponse(c, await inTime(deps, visit, frame), 404);
    return framedResponse(c, deps, visit, { ...unknownPage(visit), status: 404 });
  }
  const title = page.title(answers, visit);
  const trail = page.trail?.(visit, answers) ?? [];
  const content: readonly Child[] = page.view(answers, visit);
  const live = liveOf(page, visit, answers);
  const html = await inTime(deps, visit, { title, nav: page.nav, trail, content, live, main }, pastPositionOf(Object.values(answers)));
  const isBadTime = visit.asOf === null && visit.query.has('as_of');
  return htmlResponse(c, html, main && !main.ok ? main.status : isBadTime ? 422 : 200);
};

/** Redirects to the visitor's first tenant. A super-admin without a tenant gets the page of the platform. */
const showStart = (deps: ConsoleDeps) => async (c: Context) => {
  const visit = await identify(c, deps);
  if (visit instanceof Response) return visit;
  const [first] = visit.me?.tenants ?? [];
  if (first) return redirect(c, tenantPath(first.id));
  if (visit.may('platform')) return redirect(c, platformPath());
  const nothing = emptyState(
    {
      icon: 'building-2',
      title: 'You are not a member of any tenant',
      why: 'Ask the owner of a tenant to invite you. After an invitation, or the first start, it can take a moment until it is shown.',
    },
    a({ class: 'button', href: '/console' }, 'Look again'),
  );
  return framedResponse(c, deps, visit, { title: 'Start', nav: '', trail: [], content: [h1(null, 'Start'), nothing] });
};

/** Sends the fields of a form to one of the API's sign-in routes. */
const signInWith = async (c: Context, { app }: ConsoleDeps, path: string, fields: Readonly<Record<string, string>>) => {
  const headers = { 'content-type': 'application/json' };
  const response = await sendAsVisitor(app, c)({ method: 'POST', path, body: JSON.stringify(fields), headers });
  return { response, problem: response.ok ? undefined : ((await response.json()) as Problem) };
};

/** Says why the visitor must sign in again, as far as their old cookie shows this. */
const whyEnded = async (c: Context, { ask, rows }: Visit, { cookies }: ConsoleDeps): Promise<string> => {
  const me = cookies.session(c) === undefined ? null : await ask(rows.readMe, {});
  const isReason = me && !me.ok && (me.status === 401 || me.status === 403);
  const isForm = c.req.query('ended') === 'form';
  return `The session has ended: ${isReason ? me.problem.detail : 'sign in again'}. ${isForm ? 'Nothing of the form was saved. You return to the form' : 'You return to the page that you were on'}.`;
};

const mountSignInPages = (app: Hono, deps: ConsoleDeps): void => {
  const { assets, hasIssuer } = deps;
  app.get(SIGN_IN, async (c) => {
    const visit = requestedVisit(c, deps);
    const ended = c.req.query('ended') === undefined ? undefined : await whyEnded(c, visit, deps);
    const page = {
      theme: visit.theme,
      hasIssuer,
      ended,
      isForm: c.req.query('ended') === 'form',
      returnTo: consolePath(c.req.query('return_to')),
    };
    return htmlResponse(c, signInPage(assets, page), 200);
  });
  app.post(SIGN_IN, async (c) => {
    const { key = '', return_to } = await readSmallForm(c.req.raw);
    if (key.trim().startsWith('inv_')) return showInvitation(c, deps, key.trim());
    const returnTo = consolePath(return_to);
    const { response, problem } = await signInWith(c, deps, '/auth/key', { key });
    if (!problem) return redirect(c, returnTo, response.headers.getSetCookie());
    const { theme } = requestedVisit(c, deps);
    return htmlResponse(c, signInPage(assets, { theme, hasIssuer, returnTo, problem }), response.status);
  });
  app.get('/console/in', (c) => htmlResponse(c, linkPage(assets, themeIn(c, deps)), 200));
  app.post('/console/in', async (c) => {
    const { code = '' } = await readSmallForm(c.req.raw);
    const { response, problem } = await signInWith(c, deps, '/auth/link', { code: code.trim() });
    if (problem) return htmlResponse(c, linkPage(assets, themeIn(c, deps), problem), response.status);
    return redirect(c, '/console', response.headers.getSetCookie());
  });
  app.post('/console/sign-out', async (c) => {
    const response = await sendAsVisitor(deps.app, c)({ method: 'POST', path: '/auth/logout', headers: {} });
    const signedOut = redirect(c, SIGN_IN, response.headers.getSetCookie());
    // Also clears the storage of the tab, in which the search keeps what was opened last.
    signedOut.headers.set('clear-site-data', '"storage"');
    return signedOut;
  });
};

const themeIn = (c: Context, deps: ConsoleDeps) => requestedVisit(c, deps).theme;

const mountPreferences = (app: Hono, { cookies }: ConsoleDeps): void => {
  app.post('/console/preferences', async (c) => {
    assertOwnPage(c, cookies);
    const { theme, zone, keys, return_to } = await readSmallForm(c.req.raw);
    const secure = cookies.origin.startsWith('https:');
    const save = (name: string, value: string, path = '/console') =>
      setCookie(c, name, value, { path, sameSite: 'Lax', secure, maxAge: PREFERENCE_TTL_SECONDS });
    const known = THEMES.find((each) => each === theme);
    if (known) for (const path of THEMED_PATHS) save(THEME_COOKIE, known, path);
    if (keys === 'on' || keys === 'off') save(KEYS_COOKIE, keys);
    const target = consolePath(return_to);
    if (zone === undefined) return redirect(c, target);
    const name = zoneNamed(zone);
    // If the time zone does not exist, the page says so.
    if (name === null) return redirect(c, inZone(target, zone));
    save(ZONE_COOKIE, name);
    return redirect(c, withoutZone(target));
  });
};

/** Shows the form that sets the time zone. */
const showZone = (deps: ConsoleDeps) => async (c: Context) => {
  const visit = await identify(c, deps);
  if (visit instanceof Response) return visit;
  const content = zonePage(visit, consolePath(c.req.query('return_to')));
  return framedResponse(c, deps, visit, { title: 'Time zone', nav: '', trail: [], content });
};

/**
 * Creates the console: its pages, and the forms to sign in, to sign out, and to choose a theme and a time zone, and
 * the guides. It handles only /console, /guides and the paths below them.
 */
export const createConsole = (
  deps: ConsoleDeps,
): { readonly fetch: (request: Request, env: ConsoleEnv) => Response | Promise<Response> } => {
  const app = new Hono({ strict: true });
  app.get('/console', showStart(deps));
  mountSignInPages(app, deps);
  mountInvitation(app, deps);
  mountPreferences(app, deps);
  app.get(ZONE_PATH, showZone(deps));
  mountForms(app, deps);
  mountChatStart(app, deps);
  mountChatUpload(app, deps);
  mountGuides(app, deps);
  for (const page of deps.pages) app.get(page.path, showPage(page, deps));
  const showUnknown = unknownPath(app, deps);
  // A path that does not exist gets the same page as a path that the visitor may not see, including the tenant in it.
  app.all(UNKNOWN_PATH, showUnknown);
  app.notFound(showUnknown);
  app.onError((error, c) => answerError(error, c, deps));
  return { fetch: (request, env) => app.fetch(request, env) };
};
