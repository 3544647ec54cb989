import { expireDueSessions } from '../../commands/sessions/expire-sessions.reactor.ts';
import { approvalsDueAt, MAX_DUE_APPROVALS } from '../../projections/sessions/approval.queries.ts';
import { MAX_DUE_SESSIONS, sessionsDueAt } from '../../projections/sessions/session.queries.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import type { Log } from '../eventstore/event-log.ts';
import { startTimedReactor, type TimedReactorParts } from '../reactors/timed-reactor.ts';

const INTERVAL_MS = 5_000;
const LOCK = 'reactor session expiry';

/** Checks every five seconds whether sessions or approvals must expire. If none is due, this costs two index look-ups. */
export const startSessionExpirer = ({ log, ...parts }: TimedReactorParts & { readonly log: Log }) =>
  startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'sessions and approvals cannot be expired now; trying again',
      run: async (reads, at) => {
        const [sessions, approvals] = [await sessionsDueAt(reads, at), await approvalsDueAt(reads, at)];
        const count = await expireDueSessions(reactorContext(log, { at }), [...sessions, ...approvals]);
        if (count > 0) parts.logger.info({ count }, 'sessions or approvals expired');
        return sessions.length === MAX_DUE_SESSIONS || approvals.length === MAX_DUE_APPROVALS;
      },
    },
    parts,
  );
