/** A limit: at most `max` deliveries within any `windowMs` milliseconds. */
export type RateLimit = { readonly key: string; readonly max: number; readonly windowMs: number };

/**
 * The deliveries that a limit has counted, as a flat list of pairs: a time in Unix milliseconds, and the number of
 * deliveries at this time. The times are ascending.
 */
export type WindowState = readonly number[];

/**
 * A window stores at most about this many different times, so that its state stays small even if the limit is large.
 */
const RESOLUTION = 256;

export const emptyWindow: WindowState = [];

/** Removes the times that are outside the window. */
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

/**
 * Whether two times are stored as one time, namely the later one. Windows with a limit of at most RESOLUTION deliveries
 * store each time.
 */
const areOneTime = ({ max, windowMs }: RateLimit, one: number, other: number): boolean => {
  const slotMs = max <= RESOLUTION ? 1 : windowMs / RESOLUTION;
  return Math.floor(one / slotMs) === Math.floor(other / slotMs);
};

/**
 * Counts a delivery at the time `now`. If the window is divided into 256 parts, the deliveries in one part are stored
 * with the time of the last one. So the limit is never exceeded, but may allow the next delivery later than necessary,
 * by at most one part. If the clock was set back, the delivery counts at the last stored time.
 */
export const counted = (state: WindowState, limit: RateLimit, now: number): WindowState => {
  const kept = withoutExpired(state, limit, now);
  const last = kept.length - 2;
  if (last < 0) return [now, 1];
  const time = Math.max(now, kept[last]!);
  if (!areOneTime(limit, kept[last]!, time)) return [...kept, time, 1];
  return [...kept.slice(0, last), time, kept[last + 1]! + 1];
};
