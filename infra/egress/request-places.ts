import { EgressError } from './egress-error.ts';

export type PlaceLimits = { readonly total: number; readonly perHost: number };

/** One slow host cannot take the places of all others. A request counts until its body has been read or it is aborted. */
export const createPlaces = ({ total, perHost }: PlaceLimits) => {
  const takenOf = new Map<string, number>();
  let taken = 0;

  const count = (host: string, change: 1 | -1): void => {
    const now = (takenOf.get(host) ?? 0) + change;
    taken += change;
    if (now === 0) takenOf.delete(host);
    else takenOf.set(host, now);
  };

  /** Returns the function that stops counting the request. @throws EgressError unreachable if a limit is reached */
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
