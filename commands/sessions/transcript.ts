import type { Recorded } from '../../domain/event.ts';
import * as Session from '../../domain/sessions/session.ts';
import { centsOf } from '../../domain/sessions/usage-cost.ts';
import type { Ctx, Loaded } from '../context.ts';
import { attachmentView } from './add-attachment.ts';
import { messageView } from './append-message.ts';
import { nullIfErased, withApprovals } from './approval.ts';
import { contentLocation } from './content-location.ts';
import { openEndTexts } from './end-session.ts';
import { loadSession } from './session-access.ts';
import { sessionView, withAuthors } from './session-names.ts';
import { filesBefore, lastMessages, MESSAGE_OVERHEAD_BYTES, PAGE_BYTES } from './transcript-end.ts';

/** The event that is sent to the runner, and the sent event before it; both null if the message is not sent. */
type Sent = { readonly event_id: string | null; readonly previous_event_id: string | null };
type MessageView = ReturnType<typeof messageView> & Sent;

const sentOf = (event: Recorded<Session.SessionEvent>): Sent =>
  Session.isSent(event) && 'previous' in event.data
    ? { event_id: event.event_id, previous_event_id: event.data.previous ?? null }
    : { event_id: null, previous_event_id: null };

/** At most `limit` messages from the revision `from` on. With `newest`, the last ones before `from` (by default, the end), oldest first. */
export type TranscriptWindow = { readonly from?: number | undefined; readonly limit: number; readonly newest?: boolean | undefined };

type Part = { readonly from: number; readonly until: number; readonly limit: number };

const openContent = (ctx: Ctx, session_id: string, message_id: string, sealed: string): Promise<string | null> =>
  nullIfErased(ctx.secrets.open(contentLocation(ctx.tenant, session_id, message_id), sealed).then((content) => content.reveal()));

/**
 * Reads the session's stream, because no read model contains messages. `until`: the last revision to read; `next`: the first message that
 * was not read; null if all were.
 */
const readMessages = async (ctx: Ctx, session_id: string, { from, until, limit }: Part) => {
  const messages: MessageView[] = [];
  const attachments: ReturnType<typeof attachmentView>[] = [];
  let bytes = 0;
  let state = Session.initial;
  for await (const event of ctx.log.history(Session, session_id, { from })) {
    if (event.revision > until) break;
    state = Session.evolve(state, event);
    const message = Session.messageIn(event);
    if (message) {
      if (messages.length > 0 && (messages.length === limit || bytes > PAGE_BYTES)) return { messages, attachments, next: event.revision };
      const content = await openContent(ctx, session_id, message.message_id, message.sealed_content);
      bytes += Buffer.byteLength(content ?? '') + MESSAGE_OVERHEAD_BYTES;
      messages.push({ ...messageView(session_id, state.last_message!, content), ...sentOf(event) });
    }
    if (event.type === 'ApprovalRequested') bytes += event.data.sealed_request.length;
    if (event.type === 'SessionAttachmentAdded') attachments.push(attachmentView(ctx, state.last_attachment!));
    if (event.type === 'UsageRecorded' && messages.length > 0) {
      const { content, event_id, previous_event_id } = messages.pop()!;
      messages.push({ ...messageView(session_id, state.last_message!, content), event_id, previous_event_id });
    }
  }
  return { messages, attachments, next: null };
};

/** Reads at most `limit` messages, or as many as fit into one page. Also reads the files that they name, even if added before the first message. */
const readLastMessages = async (ctx: Ctx, session_id: string, before: number, limit: number) => {
  const { from, earlier } = await lastMessages(ctx, session_id, { before, limit });
  const { messages, attachments } = await readMessages(ctx, session_id, { from, until: before - 1, limit });
  const named = new Set(messages.flatMap(({ attachment_ids }) => attachment_ids));
  const ids = named.difference(new Set(attachments.map(({ id }) => id)));
  const files = (await filesBefore(ctx, session_id, { before: from, ids })).map((file) => attachmentView(ctx, file));
  return { messages, attachments: [...files, ...attachments], from, next: earlier ? from : null };
};

const readPart = async (ctx: Ctx, session_id: string, revision: number, { from, limit, newest }: TranscriptWindow) => {
  if (newest) return readLastMessages(ctx, session_id, Math.min(from ?? revision + 1, revision + 1), limit);
  const start = from ?? 0;
  return { ...(await readMessages(ctx, session_id, { from: start, until: revision, limit })), from: start };
};

/**
 * Totals are of the whole session. `next`: where the next page starts or, with `newest`, before which it ends; null for the last one.
 * @throws Refusal not_found, unavailable
 */
export const readTranscript = async (ctx: Ctx, session_id: string, window: TranscriptWindow) => {
  const loaded: Loaded<Session.Session> = await loadSession(ctx, session_id);
  const { prompt_tokens, completion_tokens, cost_micros, stopped_position } = loaded.state;
  const [view, texts, { messages, attachments, next, from }] = await Promise.all([
    sessionView(ctx, loaded),
    nullIfErased(openEndTexts(ctx, loaded.state)),
    readPart(ctx, session_id, loaded.revision, window),
  ]);
  const { user_email, user_name } = view.state;
  const state = {
    session: { ...view.state, summary: texts?.summary ?? null, error: texts?.error ?? null },
    messages: await withAuthors(ctx, await withApprovals(ctx, loaded, { messages, from })),
    attachments,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens,
    completion_tokens,
    total_cost_cents: centsOf(cost_micros),
    user_email,
    user_name,
    stopped_position,
  };
  return { ...loaded, state, next };
};
