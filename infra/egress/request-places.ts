import { EgressError } from './egress-error.ts';

export type PlaceLimits = { readonly total: number; readonly perHost: number };

/**
 * Creates the counter of the requests that are running, in total and to each host, so that one slow host cannot use up
 * all places. A request frees its place when its body has been read, or when it is aborted.
 */
export const createPlaces = ({ total, perHost }: PlaceLimits) => {
  const takenOf = new Map<string, number>();
  let taken = 0;

  const count = (host: string, change: 1 | -1): void => {
    const now = (takenOf.get(host) ?? 0) + change;
    taken += change;
    if (now === 0) takenOf.delete(host);
    else takenOf.set(host, now);
  };

  /** Reserves a place, and returns the function that frees it. @throws EgressError unreachable if no place is free */
  const take = (host: string, signal: AbortSignal): (() => void) => {
    if (taken >= total) throw new EgressError('unreachable', 'Too many requests to other hosts are under way');
    if ((takenOf.get(host) ?? 0) >= perHost) throw new EgressError('unreachable', `Too many requests to ${host} are under way`);
    count(host, 1);
    let isFree = false;
    const free = (): void => {
      if (isFree) return;
      isFree = true;
      count(host, -1);
      signal.removeEventListener('abort', free);
    };
    signal.addEventListener('abort', free);
    return free;
  };
  return { take };
};
