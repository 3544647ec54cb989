import type { Context, Hono } from 'hono';
import { type ConsoleDeps, identify, redirect, refuse } from '../../console/answers.ts';
import { isLikeUnknown } from '../../console/forms/form-run.ts';
import { afterToken } from '../../console/forms/form-target.ts';
import { splitForm } from '../../console/forms/form-texts.ts';
import { tenantPath } from '../../console/visit.ts';
import { assertOwnPage } from '../../identity/sign-in-cookies.ts';
import { addFile } from './chat-file.ts';
import { WRITE_ID } from './chat-forms.ts';
import { showUnsent } from './chat-unsent.ts';

const PATH = '/console/t/:tenant_id/sessions/:session_id/files';

/** A URL has at most this many bytes of typed text. Proxies refuse URLs of more than 8 KiB. */
const MAX_KEPT = 6_000;

const TOO_LONG = {
  status: 413,
  code: 'too_large',
  title: 'The text is too long to be kept',
  detail: 'The file was not added, so that your text is not lost: go back, send the text first, and then add the file',
} as const;

const NOT_ADDED = { title: 'The file was not added', text: 'Your text and the files before it are kept: add another file, or send them.' };

/**
 * Passes the file of a form to the API while it arrives. Then shows the session with a message form that names the file,
 * and has the text that was typed before.
 */
const uploadFile = (deps: ConsoleDeps) => async (c: Context) => {
  assertOwnPage(c, deps.cookies);
  const visit = await identify(c, deps);
  if (visit instanceof Response) return visit;
  const { tenant_id = '', session_id = '' } = visit.params;
  const type = c.req.header('content-type') ?? '';
  const { texts, rest, skipped, isTooLong } = await splitForm(c.req.raw.body ?? new Blob([]).stream(), type);
  const text = (texts.get('/content') ?? '').replaceAll('\r\n', '\n');
  if (isTooLong || new URLSearchParams({ text }).toString().length > MAX_KEPT) {
    await rest.cancel();
    return refuse(c, deps, TOO_LONG);
  }
  const length = c.req.header('content-length');
  const headers = { 'content-type': type, ...(length !== undefined && { 'content-length': String(Number(length) - skipped) }) };
  const before = visit.query.getAll('file');
  const added = await addFile(c, deps, { tenant_id, session_id }, { body: rest, headers });
  if ('problem' in added) {
    if (isLikeUnknown(added.problem)) return refuse(c, deps, added.problem);
    return showUnsent(c, deps, visit, { ...NOT_ADDED, ...added, session_id, content: text, ids: before });
  }
  const files = [...before, added.id].map((file) => ['file', file]);
  const chosen = new URLSearchParams(text === '' ? files : [...files, ['text', text]]);
  const page = `${tenantPath(tenant_id, `/sessions/${session_id}`)}?${chosen}#${WRITE_ID}`;
  return redirect(c, afterToken(page, added.token));
};

/** Adds the route of the form that adds a file to a session. */
export const mountChatUpload = (app: Hono, deps: ConsoleDeps): void => {
  app.post(PATH, uploadFile(deps));
};
