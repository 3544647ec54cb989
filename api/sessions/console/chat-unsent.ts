import type { Context } from 'hono';
import { type ConsoleDeps, framedResponse, signInAgain } from '../../console/answers.ts';
import { problemList } from '../../console/forms/form-errors.ts';
import { heading } from '../../console/parts/heading.ts';
import { problemPanel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { Problem } from '../../http/ask.ts';
import { composeForms } from './chat-forms.ts';

const { a } = tags;

const LABELS: Readonly<Record<string, string>> = { '/message/content': 'The message', '/content': 'The message', '/title': 'The title' };

/** Renders why a form of a chat was refused. */
export const refusal = (problem: Problem): Child =>
  problem.errors?.length
    ? problemList(
        problem.title,
        problem.errors.map(({ pointer, message }) => `${LABELS[pointer] ?? pointer} ${message}`),
      )
    : problemPanel(problem);

export type Unsent = {
  readonly session_id: string;
  readonly content: string;
  /** The ids of the files that were added. */
  readonly ids: readonly string[];
  readonly title: string;
  readonly text: string;
  readonly problem: Problem;
  readonly status: number;
  /** The Idempotency-Key of the message, if it is unknown whether it was sent. */
  readonly key?: string | undefined;
};

/** Shows why a message or its file was not sent. The form has what was typed, and the files that were added. */
export const showUnsent = async (c: Context, deps: ConsoleDeps, visit: Visit, unsent: Unsent): Promise<Response> => {
  const { session_id, content, ids, title, text, problem, status, key } = unsent;
  const { ask, rows, params } = visit;
  const page = tenantPath(params.tenant_id!, `/sessions/${session_id}`);
  if (status === 401) return signInAgain(c, { ...visit, path: page }, true);
  const detail = await ask(rows.getSession, { tenant_id: params.tenant_id!, session_id });
  const query = new URLSearchParams([['text', content], ...ids.map((id) => ['file', id])]);
  const frame = {
    title,
    nav: 'Sessions',
    trail: [['Sessions', tenantPath(params.tenant_id!, '/sessions')] as const],
    content: [
      heading(title, text, a({ class: 'button', href: page }, 'Open the session')),
      refusal(problem),
      detail.ok ? composeForms({ ...visit, query, path: page }, detail.value, key) : problemPanel(detail.problem),
    ],
  };
  return framedResponse(c, deps, visit, { ...frame, status });
};
