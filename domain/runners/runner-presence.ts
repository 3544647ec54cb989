/**
 * A connection of a runner to the broker. `until` is null while the connection is open. `active_at` is the time of the
 * last traffic on the connection. All times are RFC 3339 UTC with milliseconds.
 */
export type RunnerConnection = { readonly from: string; readonly until: string | null; readonly active_at: string };

const earlier = (a: string, b: string): string => (a < b ? a : b);
const later = (a: string, b: string): string => (a > b ? a : b);

/**
 * Returns the time since which at least one connection has been open without a gap; null if none is open. Connections
 * overlap, because a runner replaces its connection before its credential expires, and keeps the old one until the new
 * one works.
 */
export const connectedSince = (connections: readonly RunnerConnection[]): string | null => {
  const open = connections.filter(({ until }) => until === null).map(({ from }) => from);
  if (open.length === 0) return null;
  const closed = connections.flatMap(({ from, until }) => (until === null ? [] : [{ from, until }]));
  const lastFirst = closed.toSorted((a, b) => (a.until < b.until ? 1 : -1));
  return lastFirst.reduce((since, { from, until }) => (until >= since ? earlier(since, from) : since), open.reduce(earlier));
};

/** Returns when a runner was last active: the latest of these times; null if there is none. */
export const lastSeen = (times: readonly (string | null)[]): string | null =>
  times.reduce((last, time) => (last === null || time === null ? (last ?? time) : later(last, time)), null);
