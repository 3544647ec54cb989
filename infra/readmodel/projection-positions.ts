import { comparePositions, type Position, parseToken, tokenOf } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { trackLogGrowth } from './log-growth.ts';

export type ProjectionPositions = {
  /** Returns the position of a projection as a consistency token; null if it is unknown. */
  readonly position: (projection: string) => string | null;
  /** @throws Refusal not_caught_up if the projection is not at `token` after `ms` milliseconds, malformed if it is not a token */
  readonly passed: (projection: string, token: string, ms: number) => Promise<void>;
  /** How long the log has had unapplied events; 0 if none are known. Known from positions and `noteEvent`. */
  readonly behindMs: (projection: string) => number;
  /** `at` is in milliseconds since 1970; by default, now. */
  readonly noteEvent: (position: Position, at?: number) => void;
  readonly isAfter: (projection: string, position: Position) => boolean;
  /** Sets the position of a projection, and ends the waits of callers for which it is high enough. */
  readonly set: (projection: string, position: Position) => void;
  readonly clear: () => void;
};

type Waiter = { readonly projection: string; readonly wanted: Position; readonly resolve: () => void };

export const trackPositions = (): ProjectionPositions => {
  const positions = new Map<string, Position>();
  const waiters = new Set<Waiter>();
  const growth = trackLogGrowth();

  const hasReached = ({ projection, wanted }: Pick<Waiter, 'projection' | 'wanted'>): boolean => {
    const position = positions.get(projection);
    return position !== undefined && comparePositions(position, wanted) >= 0;
  };
  const passed: ProjectionPositions['passed'] = async (projection, token, ms) => {
    const wanted = parseToken(token);
    if (!wanted) throw new Refusal('malformed', 'This is not a consistency token.');
    if (hasReached({ projection, wanted })) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { projection, wanted, resolve };
    const timer = setTimeout(
      () => reject(new Refusal('not_caught_up', 'The read model has not reached this position yet.', { retryAfter: 1 })),
      ms,
    );
    waiters.add(waiter);
    await promise.finally(() => {
      clearTimeout(timer);
      waiters.delete(waiter);
    });
  };

  return {
    position: (projection) => {
      const position = positions.get(projection);
      return position ? tokenOf(position) : null;
    },
    passed,
    behindMs: (projection) => {
      const since = growth.grownBeyond(positions.get(projection) ?? null);
      return since === null ? 0 : Math.max(0, Date.now() - since);
    },
    noteEvent: (position, at = Date.now()) => growth.note(position, at),
    isAfter: (projection, position) => {
      const known = positions.get(projection);
      return known !== undefined && comparePositions(known, position) > 0;
    },
    set: (projection, position) => {
      positions.set(projection, position);
      growth.note(position, Date.now());
      for (const waiter of waiters) if (waiter.projection === projection && hasReached(waiter)) waiter.resolve();
    },
    clear: () => {
      positions.clear();
      growth.clear();
    },
  };
};
