import type { Answer, Problem } from '../../http/ask.ts';
import { icon } from './icon.ts';
import { shortId } from './short-id.ts';
import { type Child, tags } from './tags.ts';

const { div, p, strong, span } = tags;

/** What failed and why, with the id under which the log has it. */
export const problemPanel = ({ title, detail, request_id, retry_after }: Problem) =>
  div(
    { class: 'problem', role: 'alert', 'data-problem': '' },
    icon('triangle-alert'),
    div(
      null,
      strong(null, title),
      p(null, detail),
      p(
        { class: 'quiet' },
        request_id ? span(null, 'Request ', shortId(request_id, 'the request id')) : null,
        retry_after === undefined ? null : span(null, ` Worth repeating after ${retry_after} s.`),
      ),
    ),
  );

/** Shows the value of an answer or, in its place, the problem. Other panels of the page remain. */
export const panel = <T>(answer: Answer<T>, view: (value: T) => Child): Child =>
  answer.ok ? view(answer.value) : problemPanel(answer.problem);
