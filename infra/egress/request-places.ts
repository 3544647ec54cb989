import { EgressError } from './egress-error.ts';

/**
 * Counts the requests that are under way: at most `max`. A request frees its place when its body has been read, or when it is aborted.
 */
export const createPlaces = (max: number) => {
  let taken = 0;
  const take = (signal: AbortSignal): (() => void) => {
    if (taken >= max) throw new EgressError('unreachable', 'Too many requests to other hosts are under way');
    taken++;
    let isFree = false;
    const free = (): void => {
      if (isFree) return;
      isFree = true;
      taken--;
      signal.removeEventListener('abort', free);
    };
    signal.addEventListener('abort', free);
    return free;
  };
  return { take };
};
