import type { Context, Hono } from 'hono';
import { type ConsoleDeps, framedResponse, identify, redirect, refuse, signInAgain } from '../../console/answers.ts';
import { type FormFile, filesOf } from '../../console/forms/form-files.ts';
import { isLikeUnknown, newKey } from '../../console/forms/form-run.ts';
import { afterToken } from '../../console/forms/form-target.ts';
import { splitForm } from '../../console/forms/form-texts.ts';
import { card } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { Problem } from '../../http/ask.ts';
import { assertOwnPage } from '../../identity/sign-in-cookies.ts';
import { lengthError } from '../message-length.ts';
import { addFile, type Refused } from './chat-file.ts';
import { type Start, startForm } from './chat-forms.ts';
import { refusal, showUnsent } from './chat-unsent.ts';

const PATH = '/console/t/:tenant_id/agents/:agent_id/sessions';

/** The texts before the files of a form were too long to be read, so they cannot be shown again. */
const TOO_LONG = {
  status: 413,
  code: 'too_large',
  title: 'The message is too long',
  detail: 'No session was started: go back, and add the text as a file',
} as const;

type AllAdded = { readonly ids: readonly string[]; readonly refused: Refused | null };

type Into = { readonly tenant_id: string; readonly session_id: string; readonly key: string };

/** Adds the files to a session, up to the first that is refused. */
const addFiles = async (c: Context, deps: ConsoleDeps, { key, ...path }: Into, files: AsyncIterable<FormFile>): Promise<AllAdded> => {
  const ids: string[] = [];
  const type = c.req.header('content-type') ?? '';
  for await (const body of files) {
    const headers = { 'content-type': type, 'idempotency-key': `${key}-file-${ids.length}` };
    const added = await addFile(c, deps, path, { body, headers });
    if ('problem' in added) return { ids, refused: added };
    ids.push(added.id);
  }
  return { ids, refused: null };
};

const FILE_REFUSED = {
  title: 'A file was refused',
  text: 'The session was started, and the message was not sent. Add another file, or send it without.',
};
const MESSAGE_REFUSED = {
  title: 'The message was refused',
  text: 'The session was started with its files. Change the message, and send it.',
};
const MESSAGE_UNKNOWN = {
  title: 'It is unknown whether the message was sent',
  text: 'The session was started with its files. Send the message again as it is: it is not sent twice.',
};

type RefusedStart = { readonly start: Start; readonly hasFiles: boolean; readonly problem: Problem; readonly status: number };

/** Shows the form of a start that was refused, with what was typed. */
const showRefused = (
  c: Context,
  deps: ConsoleDeps,
  visit: Visit,
  { start, hasFiles, problem, status }: RefusedStart,
): Response | Promise<Response> => {
  if (status === 401) return signInAgain(c, visit, true);
  if (isLikeUnknown(problem)) return refuse(c, deps, problem);
  const { tenant_id, agent_id } = visit.params as { readonly tenant_id: string; readonly agent_id: string };
  // After a server error, it is unknown whether the session was started. The same key starts it at most once.
  const again = status >= 500 ? start : { ...start, key: newKey() };
  const frame = {
    title: 'No session was started',
    nav: 'Sessions',
    trail: [['Sessions', tenantPath(tenant_id, '/sessions')] as const],
    content: [
      heading('No session was started', hasFiles ? 'Choose the files again: a browser does not keep them.' : null),
      refusal(problem),
      card('Start a session', startForm(visit, agent_id, again)),
    ],
  };
  return framedResponse(c, deps, visit, { ...frame, status });
};

/** Returns the refusal of a message that is empty or too long; null if its length is right. */
const refusedLength = (content: string, request_id: string): Problem | null => {
  const error = lengthError(content);
  if (error === null) return null;
  const errors = [{ pointer: '/message/content', ...error }];
  return { type: '', status: 422, code: 'invalid', title: 'The message cannot be sent', detail: error.message, request_id, errors };
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
  if (split.isTooLong) {
    await split.rest.cancel();
    return refuse(c, deps, TOO_LONG);
  }
  const start = startIn(split.texts);
  const { title, content, key } = start;
  const files = filesOf(split);
  const first = await files.next();
  const shown = { start, hasFiles: !first.done };
  // With files, the message follows the start, so its length is checked before.
  const early = refusedLength(content, visit.requestId);
  if (early) {
    await files.return();
    return showRefused(c, deps, visit, { ...shown, problem: early, status: early.status });
  }
  const path = { tenant_id: params.tenant_id!, agent_id: params.agent_id! };
  const message = first.done ? { message: { content } } : {};
  const started = await ask(rows.startSession, { ...path, ...(title && { title }), ...message }, { headers: { 'idempotency-key': key } });
  if (!started.ok) {
    await files.return();
    return showRefused(c, deps, visit, { ...shown, problem: started.problem, status: started.status });
  }
  const session_id = started.value.id;
  const page = tenantPath(path.tenant_id, `/sessions/${session_id}`);
  if (first.done) return redirect(c, afterToken(page, started.headers.get('consistency-token')));
  const into = { tenant_id: path.tenant_id, session_id };
  const { ids, refused } = await addFiles(c, deps, { ...into, key }, withFirst(first.value, files));
  if (refused) {
    const why = refused.status >= 500 ? { ...FILE_REFUSED, title: 'A file was not added' } : FILE_REFUSED;
    return showUnsent(c, deps, visit, { ...why, ...refused, session_id, content, ids });
  }
  const written = { ...into, role: 'user' as const, content, attachment_ids: [...ids] };
  const messageKey = `${key}-message`;
  const sent = await ask(rows.appendMessage, written, { headers: { 'idempotency-key': messageKey } });
  if (!sent.ok) {
    const { problem, status } = sent;
    const why = status >= 500 ? { ...MESSAGE_UNKNOWN, key: messageKey } : MESSAGE_REFUSED;
    return showUnsent(c, deps, visit, { ...why, problem, status, session_id, content, ids });
  }
  return redirect(c, afterToken(page, sent.headers.get('consistency-token')));
};

const startIn = (texts: ReadonlyMap<string, string>): Start => {
  const content = (texts.get('/message/content') ?? '').replaceAll('\r\n', '\n');
  return { title: texts.get('/title')?.trim() ?? '', content, key: texts.get('_key') || newKey() };
};

async function* withFirst(first: FormFile, others: AsyncGenerator<FormFile, void>): AsyncGenerator<FormFile, void> {
  try {
    yield first;
    yield* others;
  } finally {
    // If the first file is refused, the others were not asked for yet, so they do not end by themselves.
    await others.return();
  }
}

/** Adds the route of the form that starts a session with files. */
export const mountChatStart = (app: Hono, deps: ConsoleDeps): void => {
  app.post(PATH, startWithFiles(deps));
};
