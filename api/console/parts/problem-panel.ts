import type { Answer, Problem } from '../../http/ask.ts';
import { icon } from './icon.ts';
import { shortId } from './short-id.ts';
import { type Child, tags } from './tags.ts';

const { div, p, strong, span, a } = tags;

/** The code of the problem that a new sign-in at the issuer solves. */
export const RECENT_SIGN_IN = 'recent_sign_in_required';

const signInAgain = (returnTo: string): Child =>
  p(null, a({ class: 'button', href: `/auth/login?max_age=0&return_to=${encodeURIComponent(returnTo)}` }, 'Sign in again'));

/**
 * What failed and why, with the id under which the log has it. `returnTo` is the path to open after a new sign-in, if
 * that solves the problem.
 */
export const problemPanel = ({ title, detail, code, request_id, retry_after }: Problem, returnTo = '/console') =>
  div(
    { class: 'problem', role: 'alert', 'data-problem': '' },
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

/**
 * Renders the value of an answer or, if it is a problem, the problem in its place. Other parts of the page are not
 * affected.
 */
export const panel = <T>(answer: Answer<T>, view: (value: T) => Child): Child =>
  answer.ok ? view(answer.value) : problemPanel(answer.problem);
