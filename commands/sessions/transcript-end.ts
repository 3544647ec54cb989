import { omit } from '../../domain/omit.ts';
import * as Session from '../../domain/sessions/session.ts';
import type { Ctx } from '../context.ts';

/** The maximum text in a page, which has at least one message. */
export const PAGE_BYTES = 8 << 20;
/** The approximate size of a message in addition to its text. */
export const MESSAGE_OVERHEAD_BYTES = 400;

/** Events that are read at once to find the last messages. */
const EVENTS = 200;

/** Yields the events before a revision, the last one first. */
const eventsBefore = async function* (ctx: Ctx, session_id: string, before: number) {
  for (let end = before; end > 0; end = Math.max(0, end - EVENTS)) {
    const from = Math.max(0, end - EVENTS);
    const events = await Array.fromAsync(ctx.log.history(Session, session_id, { from, limit: end - from }));
    yield* events.filter(({ revision }) => revision < end).toReversed();
  }
};

/** The size of what base64url encodes; the encrypted text in it is not larger. */
const bytesIn = (sealed: string): number => Math.ceil((sealed.length * 3) / 4);

/**
 * At most `limit` messages before a revision, and not more than fit into one page. `from`: revision of the first; `earlier`: there are
 * messages before it.
 */
export const lastMessages = async (
  ctx: Ctx,
  session_id: string,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<{ readonly from: number; readonly earlier: boolean }> => {
  const found = { from: before, count: 0, bytes: 0 };
  for await (const event of eventsBefore(ctx, session_id, before)) {
    if (event.type === 'ApprovalRequested') found.bytes += event.data.sealed_request.length;
    const message = Session.messageIn(event);
    if (!message) continue;
    const bytes = bytesIn(message.sealed_content) + MESSAGE_OVERHEAD_BYTES;
    const isFull = found.count === limit || found.bytes + bytes > PAGE_BYTES;
    if (isFull && found.count > 0) return { from: found.from, earlier: true };
    Object.assign(found, { from: event.revision, count: found.count + 1, bytes: found.bytes + bytes });
  }
  return { from: 0, earlier: false };
};

/** Returns the files that were added before a revision, in the order in which they were added. */
export const filesBefore = async (
  ctx: Ctx,
  session_id: string,
  { before, ids }: { readonly before: number; readonly ids: ReadonlySet<string> },
): Promise<Session.Attachment[]> => {
  const found: Session.Attachment[] = [];
  if (ids.size === 0) return found;
  for await (const { type, data, at } of eventsBefore(ctx, session_id, before)) {
    if (type !== 'SessionAttachmentAdded' || !ids.has(data.attachment_id)) continue;
    const file = omit(data, 'agent_id');
    found.unshift({ ...file, created_at: at });
    if (found.length === ids.size) break;
  }
  return found;
};
