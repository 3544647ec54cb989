import type { Answer, Problem } from '../../http/ask.ts';
import { icon } from './icon.ts';
import { shortId } from './short-id.ts';
import { type Child, element, tags } from './tags.ts';

const { div, p, strong, span, a } = tags;

/** The code of the problem that can be solved by signing in at the issuer again. */
export const RECENT_SIGN_IN = 'recent_sign_in_required';

/** In a form, the link keeps what was typed. Without JavaScript, the form stays as it is in its tab. */
const signInAgain = (returnTo: string): Child => [
  p(
    null,
    a({ class: 'button', href: `/auth/login?max_age=0&return_to=${encodeURIComponent(returnTo)}`, 'data-sign-in': '' }, 'Sign in again'),
  ),
  element('noscript', null, p({ class: 'quiet' }, 'Do this in a new tab: the fields of a form stay as they are here.')),
];

const RETRY_SECONDS = 2;

/** Whether a problem can go away by itself, so that the page tries again. */
export const isTemporary = ({ status }: Pick<Problem, 'status'>): boolean => status >= 500 || status === 429;

/** Returns after how many seconds the page tries again. Only too many requests make it wait longer than usual. */
const retrySeconds = ({ status, retry_after = 0 }: Problem): number =>
  status === 429 ? Math.max(retry_after, RETRY_SECONDS) : RETRY_SECONDS;

/**
 * Renders a problem: what failed and why, and the request id, which is also in the server's log. If signing in again
 * solves the problem, the page offers this, and `returnTo` is shown afterwards.
 */
export const problemPanel = (problem: Problem, returnTo = '/console') => {
  const { title, detail, code, request_id, retry_after } = problem;
  const retry = isTemporary(problem) ? String(retrySeconds(problem)) : null;
  return div(
    { class: 'problem', role: 'alert', 'data-problem': '', 'data-retry': retry },
    icon('triangle-alert'),
    div(
      null,
      strong(null, title),
      p(null, detail),
      code === RECENT_SIGN_IN ? signInAgain(returnTo) : null,
      p(
        { class: 'quiet' },
        request_id ? span(null, 'Request ', shortId(request_id, 'the request id')) : null,
        retry_after === undefined ? null : span(null, ` Worth repeating after ${retry_after} s.`),
      ),
    ),
  );
};

/**
 * Renders the value of an answer. If the answer is a problem, renders the problem in its place, and the other parts of
 * the page stay as they are.
 */
export const panel = <T>(answer: Answer<T>, view: (value: T) => Child): Child =>
  answer.ok ? view(answer.value) : problemPanel(answer.problem);
