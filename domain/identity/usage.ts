/** Uses of an API key, and requests of a user, are recorded at most once in this time. */
export const USAGE_INTERVAL_MS = 3_600_000;

/** `last`: the last recorded use; null if there is none. Both are RFC 3339 UTC. */
export const isUsageDue = (last: string | null, at: string): boolean =>
  last === null || Date.parse(at) - Date.parse(last) >= USAGE_INTERVAL_MS;
