import { fold } from '../../domain/aggregate.ts';
import type { Actor, Recorded } from '../../domain/event.ts';
import * as Session from '../../domain/sessions/session.ts';

export type SessionRef = { readonly tenant_id: string; readonly id: string };

/**
 * The first and the last event of a session (the same event if there is only one). Null if there is no such session.
 */
export type Ends = { readonly first: Recorded<Session.SessionEvent>; readonly last: Recorded<Session.SessionEvent> } | null;

/** The functions that the reactor needs from the log. */
export type ExpiryPorts = {
  readonly readEnds: (session: SessionRef) => Promise<Ends>;
  /** Appends the events after the event `last`. Does nothing if the session has a later event. */
  readonly append: (last: Recorded, events: readonly Session.SessionEvent[], actor: Actor) => Promise<void>;
};

const ACTOR: Actor = { kind: 'system', id: 'annals' };

/**
 * Expires the sessions whose lifetime is over at `at` (RFC 3339 UTC). `sessions` come from a read model and are only
 * candidates: the events of each session decide. Only two events are read: the first one has the time at which the
 * session expires, and the last one shows whether it has ended.
 * @returns the number of sessions that were expired
 */
export const expireDueSessions = async (
  { readEnds, append }: ExpiryPorts,
  sessions: readonly SessionRef[],
  at: string,
): Promise<number> => {
  let count = 0;
  for (const session of sessions) {
    const ends = await readEnds(session);
    if (!ends) continue;
    const { first, last } = ends;
    const events = Session.expire(at)(fold(Session, first === last ? [first] : [first, last]));
    if (events.length === 0) continue;
    await append(last, events, ACTOR);
    count++;
  }
  return count;
};
