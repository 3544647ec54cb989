import { expire } from '../../domain/sessions/expire-session.ts';
import * as Session from '../../domain/sessions/session.ts';
import type { ReactorCtx } from '../context.ts';

/**
 * Expires the session, or its approvals one by one, if due at the time of the context. The state decides, because the read model that names
 * the session may be outdated.
 * @returns the number of expiries
 */
export const expireSession = async (ctx: ReactorCtx, id: string): Promise<number> => {
  const decide = expire(ctx.at());
  let count = 0;
  let isOver = false;
  while (!isOver) {
    const decideOnce = (session: Session.Session): Session.SessionEvent[] => {
      const events = decide(session);
      isOver = events.length === 0;
      return events;
    };
    await ctx.transact(Session, id, decideOnce);
    if (!isOver) count++;
  }
  return count;
};
