import type { Problem } from '../http/ask.ts';
import type { Framed } from './frame.ts';
import { entriesOf, entryAt } from './navigation.ts';
import { emptyState } from './parts/empty-state.ts';
import { heading } from './parts/heading.ts';
import type { IconName } from './parts/icon.ts';
import { problemPanel } from './parts/problem-panel.ts';
import { shortId } from './parts/short-id.ts';
import { type Child, tags } from './parts/tags.ts';
import { tenantPath, type Visit, withQuery } from './visit.ts';

const { a, div, h1, p } = tags;

type Reason = { readonly title: string; readonly heading: string; readonly why: string; readonly icon: IconName };

const button = (href: string, label: string, attributes: Readonly<Record<string, string>> = {}): Child =>
  a({ class: 'button', href, ...attributes }, label);

const presentButton = (href: string): Child => button(href, 'Show the present', { 'data-now': '' });

const toStart = button('/console', 'To the start');

/** Renders the id of the request, which is also in the log of the platform. */
const requestLine = ({ requestId }: Pick<Visit, 'requestId'>): Child =>
  p({ class: 'quiet' }, 'Request ', shortId(requestId, 'the request id'));

/** Returns the link to the list to which a page belongs; null if it is not known, or if it is this page. */
const listLink = (visit: Visit): Child => {
  const label = entryAt(visit);
  const entry = entriesOf(visit).find((each) => each.label === label);
  return entry && entry.path !== visit.path ? button(entry.path, `To ${entry.label}`) : null;
};

const findLink = ({ me, params: { tenant_id } }: Visit): Child =>
  me === null
    ? null
    : button(tenant_id === undefined ? '/console/find' : tenantPath(tenant_id, '/find'), 'Find something else', { 'data-palette': '' });

/** Returns the page that replaces one which the visitor cannot see. `steps` are links and buttons, the best one first. */
export const reasonPage = (visit: Visit, { title, heading: name, why, icon }: Reason, ...steps: Child[]): Framed => ({
  title,
  nav: '',
  trail: [],
  content: [
    h1({ class: 'hidden' }, title),
    emptyState({ icon, title: name, why }, ...steps),
    div({ class: 'empty-note' }, requestLine(visit)),
  ],
});

/**
 * Returns the page of a path that does not exist, and of one that the visitor may not see: it does not reveal which of
 * these is the case.
 */
export const unknownPage = (visit: Visit): Framed =>
  reasonPage(
    visit,
    {
      icon: 'search',
      title: 'Not found',
      heading: 'There is no such page',
      why: 'It does not exist or was deleted, or you have no access to it.',
    },
    listLink(visit),
    findLink(visit),
    toStart,
  );

/** Returns the page of a path at a past time at which the resource did not exist. */
export const nothingThenPage = (visit: Visit, present: string): Framed =>
  reasonPage(
    visit,
    {
      icon: 'history',
      title: 'Not found at this time',
      heading: 'Nothing is here at this time',
      why: 'It did not exist then, or you have no access to it.',
    },
    presentButton(present),
    listLink(visit),
  );

/** Returns the content that replaces a page which cannot show a past time. `what` has no past, such as `Deliveries`. */
export const withoutPastView = (visit: Visit, what: string): readonly Child[] => [
  heading(what, null),
  emptyState(
    { icon: 'history', title: `${what} have no past`, why: 'This page can only show how they are now.' },
    presentButton(withQuery(visit, { as_of: null })),
  ),
];

/** Returns the page that replaces those of a tenant while it is suspended. */
export const suspendedPage = (visit: Visit, { title, detail }: Problem): Framed =>
  reasonPage(
    visit,
    { icon: 'shield-alert', title, heading: title, why: `${detail}. Its data are kept. Ask the operator of the platform to resume it.` },
    button('/console/me', 'To your account'),
  );

const TRIES_AGAIN = 'This page tries again by itself until it can be shown.';

/** What is shown below a problem. `back` is the page from which the request came, if it is known. */
type Around = { readonly isRetried: boolean; readonly back: string | null; readonly more: readonly Child[]; readonly isSignedIn: boolean };

/** Renders a problem that replaces a page: what failed and why, the request id, and the next steps. */
export const problemContent = (visit: Visit, problem: Problem, { isRetried, back, more, isSignedIn }: Around): readonly Child[] => [
  heading(problem.status >= 500 ? 'This page is not available now' : problem.title, isRetried ? TRIES_AGAIN : null),
  problemPanel({ ...problem, request_id: problem.request_id || visit.requestId }),
  ...more,
  div(
    { class: 'actions below' },
    back === null ? button('', 'Try again') : button(back, 'Go back'),
    isSignedIn ? toStart : button('/console/sign-in', 'To the sign-in'),
  ),
];
