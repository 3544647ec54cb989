/** At most `max` deliveries in any period of `windowMs`. */
export type RateLimit = { readonly key: string; readonly max: number; readonly windowMs: number };

/** A flat list of pairs, in ascending order: a time in Unix milliseconds, and the number of deliveries then. */
export type WindowState = readonly number[];

/** A window has at most about this many different times, so that its state stays small even if many deliveries are allowed. */
const RESOLUTION = 256;

export const emptyWindow: WindowState = [];

const withoutExpired = (state: WindowState, { windowMs }: RateLimit, now: number): WindowState => {
  let from = 0;
  while (from < state.length && state[from]! <= now - windowMs) from += 2;
  return from === 0 ? state : state.slice(from);
};

const countOf = (state: WindowState): number => {
  let count = 0;
  for (let at = 1; at < state.length; at += 2) count += state[at]!;
  return count;
};

/** Whether the limit allows one more delivery at the time `now`. */
export const hasRoom = (state: WindowState, limit: RateLimit, now: number): boolean =>
  countOf(withoutExpired(state, limit, now)) < limit.max;

/** The earliest time for one more delivery, if no other is counted until then. */
export const roomAt = (state: WindowState, limit: RateLimit, now: number): number => {
  const kept = withoutExpired(state, limit, now);
  let excess = countOf(kept) - limit.max + 1;
  for (let at = 0; at < kept.length && excess > 0; at += 2) {
    excess -= kept[at + 1]!;
    if (excess <= 0) return kept[at]! + limit.windowMs;
  }
  return now;
};

/** Whether two times are stored as one, the later one. Up to RESOLUTION deliveries, each time is stored. */
const areOneTime = ({ max, windowMs }: RateLimit, one: number, other: number): boolean => {
  const slotMs = max <= RESOLUTION ? 1 : windowMs / RESOLUTION;
  return Math.floor(one / slotMs) === Math.floor(other / slotMs);
};

/**
 * For a large limit, all deliveries in 1/256 of the window have the time of the last one: the limit is never exceeded, but the next may be
 * allowed later than necessary, by at most one part. If the clock was set back, counts at the last stored time.
 */
export const counted = (state: WindowState, limit: RateLimit, now: number): WindowState => {
  const kept = withoutExpired(state, limit, now);
  const last = kept.length - 2;
  if (last < 0) return [now, 1];
  const time = Math.max(now, kept[last]!);
  if (!areOneTime(limit, kept[last]!, time)) return [...kept, time, 1];
  return [...kept.slice(0, last), time, kept[last + 1]! + 1];
};
