import { Refusal } from '../../domain/refusal.ts';
import { expire } from '../../domain/sessions/expire-session.ts';
import * as Session from '../../domain/sessions/session.ts';
import type { ReactorCtx } from '../context.ts';

export type SessionRef = { readonly tenant_id: string; readonly id: string };

/** @throws the error unless it says that the tenant was erased */
const ignoreErased = (error: unknown): void => {
  if (!(error instanceof Refusal) || error.code !== 'not_found') throw error;
};

/** Expires the session, or its due approvals one by one. Returns the number of expiries. */
const expireSession = async (ctx: ReactorCtx, id: string): Promise<number> => {
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

/**
 * Expires what is due at the time of the context. The states decide, because the read model that names the sessions may be outdated.
 * @returns the number of sessions and approvals that expired
 */
export const expireDueSessions = async (ctx: ReactorCtx, sessions: readonly SessionRef[]): Promise<number> => {
  let count = 0;
  for (const { tenant_id, id } of sessions)
    await expireSession(ctx.inTenant(tenant_id), id).then((expired) => {
      count += expired;
    }, ignoreErased);
  return count;
};
