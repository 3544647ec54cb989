/** The use of an API key, and that a user has made requests, is recorded at most once in this many milliseconds. */
export const USAGE_INTERVAL_MS = 3_600_000;

/**
 * Returns whether a use at the time `at` must be recorded. `last` is the last recorded use; null if there is none. Both
 * times are RFC 3339 UTC.
 */
export const isUsageDue = (last: string | null, at: string): boolean =>
  last === null || Date.parse(at) - Date.parse(last) >= USAGE_INTERVAL_MS;
