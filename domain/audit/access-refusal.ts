import type { Recorded } from '../event.ts';

/** The refused requests of one authenticated caller in one tenant: stream `access-<tenant>.<id of the caller>`. */
export const category = 'access';

/**
 * Refused with status 403, or by a limit for a costly kind of request (see `LimitedFlow`). `permission`: which one the caller lacks; null
 * if refused for another reason.
 */
export type AccessRefusal = { method: string; path: string; code: string; permission: string | null; agent_id: string | null };

export type AccessRefusalEvent =
  | { type: 'AccessRefused'; data: AccessRefusal }
  | { type: 'AccessRefusalsCounted'; data: { caller: string; count: number; first: string; last: string } };

export type AccessRefusalCounts = { recorded: number; counted: number };

export const initial: AccessRefusalCounts = { recorded: 0, counted: 0 };

export const evolve = (counts: AccessRefusalCounts, event: Recorded<AccessRefusalEvent>): AccessRefusalCounts => {
  switch (event.type) {
    case 'AccessRefused':
      return { ...counts, recorded: counts.recorded + 1 };
    case 'AccessRefusalsCounted':
      return { ...counts, counted: counts.counted + event.data.count };
  }
};
