import { expireSession } from '../../commands/sessions/expire-sessions.reactor.ts';
import { approvalsDueAt, MAX_DUE_APPROVALS } from '../../projections/sessions/approval.queries.ts';
import { MAX_DUE_SESSIONS, sessionsDueAt } from '../../projections/sessions/session.queries.ts';
import { timed } from '../reactors/timed.ts';

/** Expires sessions, and the approvals in them. */
export const expiries = timed({
  lock: 'reactor session expiry',
  everyMs: 5_000,
  failure: 'sessions and approvals cannot be expired now; trying again',
  due: async (reads, at) => [...(await sessionsDueAt(reads, at)), ...(await approvalsDueAt(reads, at))],
  max: Math.min(MAX_DUE_SESSIONS, MAX_DUE_APPROVALS),
  handle: (ctx, { tenant_id, id }) => expireSession(ctx.inTenant(tenant_id), id),
  done: (logger, _, counts) => {
    const count = counts.reduce((sum, expired) => sum + expired, 0);
    if (count > 0) logger.info({ count }, 'sessions or approvals expired');
  },
});
