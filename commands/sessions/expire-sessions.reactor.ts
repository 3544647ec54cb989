import { fold } from '../../domain/aggregate.ts';
import type { Actor, Recorded } from '../../domain/event.ts';
import * as Session from '../../domain/sessions/session.ts';

export type SessionRef = { readonly tenant_id: string; readonly id: string };

/** The first and the last event of a session, which can be the same event. Null if there is no such session. */
export type Ends = { readonly first: Recorded<Session.SessionEvent>; readonly last: Recorded<Session.SessionEvent> } | null;

/** The functions that the reactor needs from the log. */
export type ExpiryPorts = {
  readonly readEnds: (session: SessionRef) => Promise<Ends>;
  /** Appends the events after the event `last`. Does nothing if the session has a later event. */
  readonly append: (last: Recorded, events: readonly Session.SessionEvent[], actor: Actor) => Promise<void>;
};

const ACTOR: Actor = { kind: 'system', id: 'annals' };

/**
 * Expires the sessions whose time is over at `at` (RFC 3339 UTC). The read model that names the sessions may be
 * outdated, so two events of each session are read: the first contains the expiry time, and the last shows whether the
 * session has ended.
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
