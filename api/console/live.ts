import { CHANGE_CATEGORIES } from '../audit/change-watch.ts';
import type { Answer } from '../http/ask.ts';
import type { Page } from './page.ts';
import { icon } from './parts/icon.ts';
import { isTemporary } from './parts/problem-panel.ts';
import { type Child, tags } from './parts/tags.ts';
import { type Visit, withQuery } from './visit.ts';

const { button, span, a, div } = tags;

/**
 * How a page is kept up to date. `attributes` are read by `live.mjs`. `state` and `notices` are what the top of the
 * page shows about the updates.
 */
export type Live = { readonly attributes: Readonly<Record<string, string>>; readonly state: Child; readonly notices: Child };

const POLL_MS = 2_000;

/** Compares two consistency tokens. An empty one is before all others. */
export const compareTokens = (one: string, other: string): number => {
  const [a = 0n, b = 0n] = [one, other].map((token) => BigInt(token.split(':')[0] ?? 0));
  return a < b ? -1 : a > b ? 1 : 0;
};

/**
 * The lowest log position among the answers of a page. The page contains all events up to this position. Null if no
 * answer has a position.
 */
const shownPosition = (answers: readonly (Answer<unknown> | null)[]): string | null =>
  answers
    .flatMap((answer) => (answer?.position ? [answer.position] : []))
    .toSorted(compareTokens)
    .at(0) ?? null;

/**
 * The button that shows whether the page is being updated, and that pauses the updates. Without JavaScript, it stays
 * hidden.
 */
const stateButton = () =>
  button(
    {
      type: 'button',
      id: 'live',
      class: 'ghost live',
      hidden: true,
      'data-state': 'connecting',
      'data-hotkey': '.',
      'data-key-name': 'Pause or follow the changes',
      title: 'Pause (.)',
    },
    span({ class: 'live-dot', 'aria-hidden': 'true' }),
    span({ 'data-label': '' }, 'Connecting'),
  );

/** The messages that `live.mjs` shows above the content: that there are new rows, or that the session has ended. */
const notices = (returnTo: string) =>
  div(
    { class: 'live-notices' },
    button({ type: 'button', id: 'live-new', class: 'live-new', hidden: true }, icon('arrow-up'), span({ 'data-label': '' }, 'New')),
    div(
      { id: 'live-ended', class: 'note', role: 'alert', hidden: true },
      icon('info'),
      span(null, 'The session has ended, so this page is no longer kept up to date. ', span({ 'data-reason': '' }, '')),
      a({ href: returnTo, 'data-sign-in': '' }, 'Sign in and return'),
    ),
    span({ id: 'live-status', class: 'hidden', role: 'status' }, ''),
  );

/**
 * How a page that shows a temporary problem is kept up to date: it is requested until the problem is over. `isAll` says
 * that the problem has replaced the whole page. Such a page is then opened again, because its frame is incomplete, too.
 */
export const retryOf = (visit: Visit, isAll: boolean): Live => {
  const refresh = withQuery(visit, {});
  return {
    attributes: { 'data-refresh': refresh, ...(isAll && { 'data-incomplete': '' }) },
    state: isAll ? stateButton() : null,
    notices: notices(refresh),
  };
};

/** Returns the attributes with which a page follows the stream of changes of its tenant. */
const streamOf = (
  categories: NonNullable<Page['categories']>,
  visit: Visit,
  answers: readonly (Answer<unknown> | null)[],
): Live['attributes'] => {
  const { tenant_id, session_id } = visit.params;
  const names = typeof categories === 'function' ? categories(visit) : categories;
  const after = shownPosition(answers);
  const query = new URLSearchParams({ ...(after !== null && { after }), ...(session_id !== undefined && { session_id }) });
  return {
    'data-stream': `/tenant/${tenant_id}/changes${query.size === 0 ? '' : `?${query}`}`,
    'data-categories': (names === '*' ? CHANGE_CATEGORIES : names).join(' '),
  };
};

/**
 * Decides how a page is kept up to date. A page about events of a tenant follows the tenant's stream of changes. A page
 * with values that no event changes is also requested every two seconds. A page that shows the past, and one that does not
 * change, are requested again only while they show a temporary problem. Null for a page that is not updated.
 */
export const liveOf = (page: Page, visit: Visit, answers: Readonly<Record<string, Answer<unknown> | null>>): Live | null => {
  const polls = typeof page.polls === 'function' ? page.polls(answers) : page.polls;
  const all = Object.values(answers);
  const { tenant_id } = visit.params;
  const isUpdated = visit.asOf === null && (polls || (page.categories !== undefined && tenant_id !== undefined));
  // Each read by a super-admin who is not a member of the tenant is recorded. So such a page must not update itself.
  if (tenant_id !== undefined && !visit.tenant)
    return isUpdated
      ? { attributes: {}, state: span({ class: 'quiet live-off' }, 'Not live: each read is recorded'), notices: null }
      : null;
  if (!isUpdated) return all.some((answer) => answer && !answer.ok && isTemporary(answer.problem)) ? retryOf(visit, false) : null;
  const refresh = withQuery(visit, {});
  const poll = polls && { 'data-poll': String(POLL_MS) };
  const stream = page.categories && tenant_id !== undefined && streamOf(page.categories, visit, all);
  return { attributes: { 'data-refresh': refresh, ...poll, ...stream }, state: stateButton(), notices: notices(refresh) };
};
