import { comparePositions, type Position, parseToken, tokenOf } from '../../domain/event.ts';
import { callerIdOf, type Principal } from '../../domain/principal.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Reads } from '../../projections/read-model.ts';
import { boundedMap } from './scoped-cache.ts';

/**
 * A read without a Consistency-Token waits at most this many milliseconds for the caller's last write. A read with a
 * token waits longer, and is refused if this does not suffice.
 */
const WAIT_TIMEOUT_MS = 250;
/**
 * Reads do not wait for a write that is older than this many milliseconds: either the projection contains it by now, or
 * the projection is too far behind.
 */
const WRITE_TTL_MS = 2_000;
/**
 * After waiting for a projection has timed out, the caller's reads do not wait for this projection for this many
 * milliseconds.
 */
const SKIP_WAIT_MS = 1_000;
const MAX_CALLERS = 10_000;

const writerOf = (principal: Principal): string | null => (principal.kind === 'system' ? null : callerIdOf(principal));

type Write = { readonly position: Position; readonly at: number };

export type ReadYourWrites = {
  /** Remembers the position of the caller's latest mutation. */
  readonly recordWrite: (principal: Principal, position: Position | null) => void;
  /**
   * Without a Consistency-Token, waits until the projections include the caller's last write, but not longer than 250
   * ms. With a token, waits until they have reached the token's position, and throws if this takes too long.
   * @throws Refusal malformed, not_caught_up
   */
  readonly waitForOwnWrites: (principal: Principal, projections: readonly string[], token: string | undefined) => Promise<void>;
};

/** Lets callers read what they have written in the same process, even if they do not send a Consistency-Token. */
export const readYourWrites = (reads: Pick<Reads, 'passed'>, now: () => number = () => performance.now()): ReadYourWrites => {
  const lastWrites = boundedMap<Write>(MAX_CALLERS);
  const skipUntil = new Map<string, number>();

  const waitFor = async (projection: string, token: string): Promise<void> => {
    if (now() < (skipUntil.get(projection) ?? 0)) return;
    await reads.passed(projection, token, WAIT_TIMEOUT_MS).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
      skipUntil.set(projection, now() + SKIP_WAIT_MS);
    });
  };

  return {
    recordWrite: (principal, position) => {
      const caller = writerOf(principal);
      if (!caller || !position) return;
      const known = lastWrites.get(caller);
      // The responses to concurrent mutations can arrive in another order than their events. So keep the later
      // position.
      if (known && comparePositions(known.position, position) > 0) return;
      lastWrites.set(caller, { position, at: now() });
    },
    waitForOwnWrites: async (principal, projections, token) => {
      if (token !== undefined) {
        if (!parseToken(token)) throw new Refusal('malformed', 'The Consistency-Token is malformed');
        return void (await Promise.all(projections.map((projection) => reads.passed(projection, token))));
      }
      const caller = writerOf(principal);
      const write = caller === null ? undefined : lastWrites.get(caller);
      if (!write) return;
      if (now() - write.at > WRITE_TTL_MS) lastWrites.delete(caller!);
      else await Promise.all(projections.map((projection) => waitFor(projection, tokenOf(write.position))));
    },
  };
};
