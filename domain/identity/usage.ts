/** The time of last use of an API key or user is recorded at most this often, in milliseconds. */
export const USAGE_INTERVAL_MS = 3_600_000;

/**
 * Whether to record a use at `at`, if `last` is the use recorded last. Both are RFC 3339 UTC; null: none was recorded
 * yet.
 */
export const isUsageDue = (last: string | null, at: string): boolean =>
  last === null || Date.parse(at) - Date.parse(last) >= USAGE_INTERVAL_MS;
