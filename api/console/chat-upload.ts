import type { Context, Hono } from 'hono';
import { problemOf } from '../http/ask.ts';
import { assertOwnPage } from '../identity/sign-in-cookies.ts';
import { type ConsoleDeps, identify, redirect, refuse, signInPath } from './answers.ts';
import { WRITE_ID } from './chat-forms.ts';
import { afterToken } from './form-target.ts';
import { REPEATED_HEADERS } from './request-visit.ts';
import { tenantPath } from './visit.ts';

const PATH = '/console/t/:tenant_id/sessions/:session_id/files';

/** Passes the file of a form to the API while it arrives, and then shows the session with a message form that names it. */
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
  const path = `/tenant/${encodeURIComponent(tenant_id)}/sessions/${encodeURIComponent(session_id)}/attachments`;
  const init = { method: 'POST', headers, body: c.req.raw.body, duplex: 'half' } as RequestInit;
  const response = await deps.app.request(path, init, c.env as object);
  if (response.status === 401) return redirect(c, signInPath(visit, true));
  if (!response.ok) return refuse(c, deps, await problemOf(response));
  const { id } = (await response.json()) as { readonly id: string };
  const chosen = new URLSearchParams([...visit.query.getAll('file'), id].map((file) => ['file', file]));
  const page = `${tenantPath(tenant_id, `/sessions/${session_id}`)}?${chosen}#${WRITE_ID}`;
  return redirect(c, afterToken(page, response.headers.get('consistency-token')));
};

/** Adds the route of the form that adds a file to a session. */
export const mountChatUpload = (app: Hono, deps: ConsoleDeps): void => {
  app.post(PATH, addFile(deps));
};
