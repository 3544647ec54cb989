import type { Context, Hono } from 'hono';
import { problemOf } from '../http/ask.ts';
import { assertOwnPage } from '../identity/sign-in-cookies.ts';
import { type ConsoleDeps, identify, redirect, refuse, signInAgain } from './answers.ts';
import { WRITE_ID } from './chat-forms.ts';
import { afterToken } from './form-target.ts';
import { splitForm } from './form-texts.ts';
import { REPEATED_HEADERS } from './request-visit.ts';
import { tenantPath } from './visit.ts';

const PATH = '/console/t/:tenant_id/sessions/:session_id/files';

/** A URL has at most this many bytes of typed text. Proxies refuse URLs of more than 8 KiB. */
const MAX_KEPT = 6_000;

const TOO_LONG = {
  status: 413,
  code: 'too_large',
  title: 'The text is too long to be kept',
  detail: 'The file was not added, so that your text is not lost: go back, send the text first, and then add the file',
} as const;

/**
 * Passes the file of a form to the API while it arrives. Then shows the session with a message form that names the file,
 * and has the text that was typed before.
 */
const addFile = (deps: ConsoleDeps) => async (c: Context) => {
  assertOwnPage(c, deps.cookies);
  const visit = await identify(c, deps);
  if (visit instanceof Response) return visit;
  const { tenant_id = '', session_id = '' } = visit.params;
  const headers = new Headers({ 'x-request-id': visit.requestId });
  for (const name of [...REPEATED_HEADERS, 'content-type', 'content-length']) {
    const value = c.req.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  const { texts, rest, skipped, isTooLong } = await splitForm(c.req.raw.body ?? new Blob([]).stream(), headers.get('content-type') ?? '');
  const text = (texts.get('/content') ?? '').replaceAll('\r\n', '\n');
  if (isTooLong || new URLSearchParams({ text }).toString().length > MAX_KEPT) {
    await rest.cancel();
    return refuse(c, deps, TOO_LONG);
  }
  const length = Number(headers.get('content-length'));
  if (headers.has('content-length')) headers.set('content-length', String(length - skipped));
  const path = `/tenant/${encodeURIComponent(tenant_id)}/sessions/${encodeURIComponent(session_id)}/attachments`;
  const init = { method: 'POST', headers, body: rest, duplex: 'half' } as RequestInit;
  const response = await deps.app.request(path, init, c.env as object);
  if (response.status === 401) return signInAgain(c, visit, true);
  if (!response.ok) return refuse(c, deps, await problemOf(response));
  const { id } = (await response.json()) as { readonly id: string };
  const files = [...visit.query.getAll('file'), id].map((file) => ['file', file]);
  const chosen = new URLSearchParams(text === '' ? files : [...files, ['text', text]]);
  const page = `${tenantPath(tenant_id, `/sessions/${session_id}`)}?${chosen}#${WRITE_ID}`;
  return redirect(c, afterToken(page, response.headers.get('consistency-token')));
};

/** Adds the route of the form that adds a file to a session. */
export const mountChatUpload = (app: Hono, deps: ConsoleDeps): void => {
  app.post(PATH, addFile(deps));
};
