import type { Recorded } from '../event.ts';

/** What known callers asked for and may not: `access-<tenant>.<who asked>`. */
export const category = 'access';

/** A call that was answered with 403. `permission` is the one that was lacking, where one was. */
export type AccessRefusal = { method: string; path: string; code: string; permission: string | null; agent_id: string | null };

export type AccessRefusalEvent =
  | { type: 'AccessRefused'; data: AccessRefusal }
  | { type: 'AccessRefusalsCounted'; data: { caller: string; count: number; first: string; last: string } };

export type AccessRefusalCounts = { recorded: number; counted: number };

export const initial: AccessRefusalCounts = { recorded: 0, counted: 0 };

export const evolve = (refused: AccessRefusalCounts, event: Recorded<AccessRefusalEvent>): AccessRefusalCounts => {
  switch (event.type) {
    case 'AccessRefused':
      return { ...refused, recorded: refused.recorded + 1 };
    case 'AccessRefusalsCounted':
      return { ...refused, counted: refused.counted + event.data.count };
  }
};
