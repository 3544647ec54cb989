import type { Recorded } from '../event.ts';

/** What known callers asked for and may not: `access-<tenant>.<who asked>`. */
export const category = 'access';

/** A call that was answered with 403. `permission` is the one that was lacking, where one was. */
export type RefusedAccess = { method: string; path: string; code: string; permission: string | null; agent_id: string | null };

export type RefusedAccessEvent =
  | { type: 'AccessRefused'; data: RefusedAccess }
  | { type: 'AccessRefusalsCounted'; data: { caller: string; count: number; first: string; last: string } };

export type RefusedAccesses = { recorded: number; counted: number };

export const initial: RefusedAccesses = { recorded: 0, counted: 0 };

export const evolve = (refused: RefusedAccesses, event: Recorded<RefusedAccessEvent>): RefusedAccesses => {
  switch (event.type) {
    case 'AccessRefused':
      return { ...refused, recorded: refused.recorded + 1 };
    case 'AccessRefusalsCounted':
      return { ...refused, counted: refused.counted + event.data.count };
  }
};
