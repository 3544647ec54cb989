/** `until` is null while open; `active_at`: the last traffic. RFC 3339 UTC with milliseconds. */
export type RunnerConnection = { readonly from: string; readonly until: string | null; readonly active_at: string };

const earlier = (a: string, b: string): string => (a < b ? a : b);
const later = (a: string, b: string): string => (a > b ? a : b);

/**
 * Since when at least one connection was always open. Connections overlap: a runner opens a new one before its credential expires, and
 * closes the old one only when the new one works.
 */
export const connectedSince = (connections: readonly RunnerConnection[]): string | null => {
  const open = connections.filter(({ until }) => until === null).map(({ from }) => from);
  if (open.length === 0) return null;
  const closed = connections.flatMap(({ from, until }) => (until === null ? [] : [{ from, until }]));
  const lastFirst = closed.toSorted((a, b) => (a.until < b.until ? 1 : -1));
  return lastFirst.reduce((since, { from, until }) => (until >= since ? earlier(since, from) : since), open.reduce(earlier));
};

/** When a runner was last active. */
export const lastSeen = (times: readonly (string | null)[]): string | null =>
  times.reduce((last, time) => (last === null || time === null ? (last ?? time) : later(last, time)), null);
