import * as Session from '../../domain/sessions/session.ts';
import type { Ctx } from '../context.ts';

/** How many events of a session are read at once to find its last messages. */
const EVENTS = 200;

/** Returns the revisions of the messages in a part of the stream, the oldest first. */
const messagesBetween = async (ctx: Ctx, session_id: string, from: number, before: number): Promise<number[]> => {
  const revisions: number[] = [];
  for await (const event of ctx.history(Session, session_id, { from, limit: before - from }))
    if (event.revision < before && Session.messageIn(event)) revisions.push(event.revision);
  return revisions;
};

/**
 * Finds the last messages of a session before a revision: at most `limit`. `from` is the revision of the first of them,
 * and `earlier` whether there are messages before it.
 */
export const lastMessages = async (
  ctx: Ctx,
  session_id: string,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<{ readonly from: number; readonly earlier: boolean }> => {
  let found: number[] = [];
  for (let end = before; end > 0 && found.length <= limit; end = Math.max(0, end - EVENTS))
    found = [...(await messagesBetween(ctx, session_id, Math.max(0, end - EVENTS), end)), ...found];
  return found.length > limit ? { from: found.at(-limit)!, earlier: true } : { from: 0, earlier: false };
};
