import { type ExpiryPorts, expireDueSessions } from '../../commands/sessions/expire-sessions.reactor.ts';
import { streamName } from '../../domain/event.ts';
import * as Session from '../../domain/sessions/session.ts';
import { MAX_DUE_SESSIONS, sessionsDueAt } from '../../projections/sessions/session.queries.ts';
import { derivedId } from '../aggregates/transact.ts';
import { firstEvent } from '../eventstore/client-read.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';
import { startTimedReactor, type TimedReactorParts } from './timed-reactor.ts';

const INTERVAL_MS = 5_000;
const LOCK = 'reactor session expiry';
const SEED = 'expired';

/**
 * Returns null for the errors that a session has a later event, or that its tenant was erased. The next run of the
 * reactor handles such a session again.
 * @throws any other error
 */
const ignoreChanged = (error: unknown): null => {
  if (error instanceof LogError && (error.kind === 'conflict' || error.kind === 'gone')) return null;
  throw error;
};

/** Creates the ports with which the reactor works. `at` is the time of the events that it appends (RFC 3339 UTC). */
export const expiryPorts = (log: Log, at: string): ExpiryPorts => ({
  readEnds: async ({ tenant_id, id }) => {
    const stream = streamName(Session.category, tenant_id, id);
    const [first, last] = await Promise.all([firstEvent(log.read(stream, { limit: 1 })), log.last(stream)]).catch((error: unknown) => {
      ignoreChanged(error);
      return [null, null];
    });
    return first && last
      ? ({ first, last: last.revision === first.revision ? first : last } as Awaited<ReturnType<ExpiryPorts['readEnds']>>)
      : null;
  },
  append: async ({ stream, tenant, revision }, events, actor) => {
    const meta = { tenant, actor, at, v: 1 };
    const appended = events.map(({ type, data }, index) => ({ id: derivedId(stream, SEED, index), type, data, meta }));
    await log.append(stream, revision, appended).catch(ignoreChanged);
  },
});

/**
 * Starts the reactor that checks every five seconds whether sessions must expire, and expires them. If none is due, a
 * check costs one index look-up.
 */
export const startSessionExpirer = ({ log, ...parts }: TimedReactorParts & { readonly log: Log }) =>
  startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'sessions cannot be expired now; trying again',
      run: async (reads, at) => {
        const due = await sessionsDueAt(reads, at);
        const count = await expireDueSessions(expiryPorts(log, at), due, at);
        if (count > 0) parts.logger.info({ count }, 'sessions expired');
        return due.length === MAX_DUE_SESSIONS;
      },
    },
    parts,
  );
