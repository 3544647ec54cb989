import type { Context, Hono } from 'hono';
import { type Problem, problemOf } from '../http/ask.ts';
import { assertOwnPage } from '../identity/sign-in-cookies.ts';
import { type ConsoleDeps, htmlResponse, identify, redirect, refuse, signInAgain } from './answers.ts';
import { composeForms } from './chat-forms.ts';
import { type FormFile, filesOf } from './form-files.ts';
import { afterToken } from './form-target.ts';
import { splitForm } from './form-texts.ts';
import { framed } from './frame.ts';
import { heading } from './parts/heading.ts';
import { problemPanel } from './parts/problem-panel.ts';
import { REPEATED_HEADERS } from './request-visit.ts';
import { tenantPath, type Visit } from './visit.ts';

const PATH = '/console/t/:tenant_id/agents/:agent_id/sessions';

/** What a person writes to start a session. `key` makes a form that is sent twice act once. */
type Start = { readonly title: string; readonly content: string; readonly key: string };

type Refused = { readonly refused: Problem; readonly status: number };

/** Passes a file to the API while it arrives. Returns the id of the attachment. */
const addFile = async (c: Context, { app }: ConsoleDeps, path: string, { form }: FormFile, key: string): Promise<string | Refused> => {
  const headers = new Headers({ 'idempotency-key': key, 'content-type': c.req.header('content-type') ?? '' });
  for (const name of REPEATED_HEADERS) if (c.req.header(name) !== undefined) headers.set(name, c.req.header(name)!);
  const init = { method: 'POST', headers, body: form, duplex: 'half' } as RequestInit;
  const response = await app.request(path, init, c.env as object);
  if (!response.ok) return { refused: await problemOf(response), status: response.status };
  return ((await response.json()) as { readonly id: string }).id;
};

type Added = { readonly ids: readonly string[]; readonly refused: Refused | null };

/** Adds the files to a session, up to the first that is refused. */
const addFiles = async (c: Context, deps: ConsoleDeps, path: string, files: AsyncIterable<FormFile>, key: string): Promise<Added> => {
  const ids: string[] = [];
  for await (const file of files) {
    const added = await addFile(c, deps, path, file, `${key}-file-${ids.length}`);
    if (typeof added !== 'string') return { ids, refused: added };
    ids.push(added);
  }
  return { ids, refused: null };
};

/** Shows that the session was started without its message, because a file was refused. The form has what was typed. */
const showUnsent = async (c: Context, deps: ConsoleDeps, visit: Visit, { session_id, content, ids, problem, status }: Unsent) => {
  const { ask, rows, params } = visit;
  const detail = await ask(rows.getSession, { tenant_id: params.tenant_id!, session_id });
  const page = tenantPath(params.tenant_id!, `/sessions/${session_id}`);
  const query = new URLSearchParams([['text', content], ...ids.map((id) => ['file', id])]);
  const frame = {
    title: 'A file was refused',
    nav: 'Sessions',
    trail: [['Sessions', tenantPath(params.tenant_id!, '/sessions')] as const],
    content: [
      heading('A file was refused', 'The session was started, and the message was not sent. Add another file, or send it without.'),
      problemPanel(problem),
      detail.ok ? composeForms({ ...visit, query, path: page }, detail.value) : problemPanel(detail.problem),
    ],
  };
  return htmlResponse(c, framed(deps.assets, visit, frame), status);
};

type Unsent = {
  readonly session_id: string;
  readonly content: string;
  readonly ids: readonly string[];
  readonly problem: Problem;
  readonly status: number;
};

/**
 * Starts a session with the message and the files of a form. With files, the message follows when they are added,
 * because it names them.
 */
const startWithFiles = (deps: ConsoleDeps) => async (c: Context) => {
  assertOwnPage(c, deps.cookies);
  const visit = await identify(c, deps);
  if (visit instanceof Response) return visit;
  const { ask, rows, params } = visit;
  const type = c.req.header('content-type') ?? '';
  const split = await splitForm(c.req.raw.body ?? new Blob([]).stream(), type);
  const { title, content, key } = startIn(split.texts);
  const files = filesOf(split, type);
  const first = await files.next();
  const path = { tenant_id: params.tenant_id!, agent_id: params.agent_id! };
  const message = first.done ? { message: { content } } : {};
  const started = await ask(rows.startSession, { ...path, ...(title && { title }), ...message }, { headers: { 'idempotency-key': key } });
  if (!started.ok) {
    await files.return();
    return started.status === 401 ? signInAgain(c, visit, true) : refuse(c, deps, started.problem);
  }
  const session_id = started.value.id;
  const page = tenantPath(path.tenant_id, `/sessions/${session_id}`);
  if (first.done) return redirect(c, afterToken(page, started.headers.get('consistency-token')));
  const at = `/tenant/${path.tenant_id}/sessions/${session_id}`;
  const { ids, refused } = await addFiles(c, deps, `${at}/attachments`, withFirst(first.value, files), key);
  if (refused) return showUnsent(c, deps, visit, { session_id, content, ids, problem: refused.refused, status: refused.status });
  const written = { tenant_id: path.tenant_id, session_id, role: 'user' as const, content, attachment_ids: [...ids] };
  const sent = await ask(rows.appendMessage, written as never, { headers: { 'idempotency-key': `${key}-message` } });
  if (!sent.ok) return showUnsent(c, deps, visit, { session_id, content, ids, problem: sent.problem, status: sent.status });
  return redirect(c, afterToken(page, sent.headers.get('consistency-token')));
};

const startIn = (texts: ReadonlyMap<string, string>): Start => {
  const content = (texts.get('/message/content') ?? '').replaceAll('\r\n', '\n');
  return { title: texts.get('/title')?.trim() ?? '', content, key: texts.get('_key') || crypto.randomUUID() };
};

async function* withFirst(first: FormFile, others: AsyncGenerator<FormFile, void>): AsyncGenerator<FormFile, void> {
  yield first;
  yield* others;
}

/** Adds the route of the form that starts a session with files. */
export const mountChatStart = (app: Hono, deps: ConsoleDeps): void => {
  app.post(PATH, startWithFiles(deps));
};
