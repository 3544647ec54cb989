import type { Context } from 'hono';
import type { ConsoleDeps } from '../../console/answers.ts';
import { sendAsVisitor } from '../../console/request-visit.ts';
import { type Problem, problemOf } from '../../http/ask.ts';

export type Refused = { readonly problem: Problem; readonly status: number };
export type Added = { readonly id: string; readonly token: string | null };

/** A form with one file. `headers` has its content type. */
export type SentFile = { readonly body: ReadableStream<Uint8Array>; readonly headers: Record<string, string> };

type Path = { readonly tenant_id: string; readonly session_id: string };

/** Passes a file to the API while it arrives. Returns the attachment and the consistency token, or why it was refused. */
export const addFile = async (
  c: Context,
  { app }: ConsoleDeps,
  { tenant_id, session_id }: Path,
  { body, headers }: SentFile,
): Promise<Added | Refused> => {
  const path = `/tenant/${encodeURIComponent(tenant_id)}/sessions/${encodeURIComponent(session_id)}/attachments`;
  const response = await sendAsVisitor(app, c)({ method: 'POST', path, body, headers });
  if (!response.ok) return { problem: await problemOf(response), status: response.status };
  const { id } = (await response.json()) as { readonly id: string };
  return { id, token: response.headers.get('consistency-token') };
};
