/** A limit: at most `max` deliveries in any time of `windowMs` milliseconds. */
export type RateLimit = { readonly key: string; readonly max: number; readonly windowMs: number };

/**
 * The deliveries that a limit has counted: times in Unix milliseconds, ascending, and how many deliveries each time
 * stands for, as one flat list.
 */
export type WindowState = readonly number[];

/** A window remembers at most about this many different times. So its state stays small, however large the limit is. */
const RESOLUTION = 256;

export const emptyWindow: WindowState = [];

/** Leaves out the times that are a whole window ago. */
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

/** Whether two times are remembered as one: the later one. A limit of at most RESOLUTION deliveries remembers each. */
const areOneTime = ({ max, windowMs }: RateLimit, one: number, other: number): boolean => {
  const slotMs = max <= RESOLUTION ? 1 : windowMs / RESOLUTION;
  return Math.floor(one / slotMs) === Math.floor(other / slotMs);
};

/**
 * Counts a delivery at the time `now`. Deliveries of the same 256th of the window are remembered as of the last of
 * them. So the limit is never exceeded, and lets the next delivery in at most this much later than it could. If the
 * clock was set back, the delivery counts as of the last time.
 */
export const counted = (state: WindowState, limit: RateLimit, now: number): WindowState => {
  const kept = withoutExpired(state, limit, now);
  const last = kept.length - 2;
  if (last < 0) return [now, 1];
  const time = Math.max(now, kept[last]!);
  if (!areOneTime(limit, kept[last]!, time)) return [...kept, time, 1];
  return [...kept.slice(0, last), time, kept[last + 1]! + 1];
};
