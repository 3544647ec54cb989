/**
 * The minimum and maximum time between two refreshes. The first change is shown at once. While more changes arrive, the
 * time doubles up to the maximum, so that many open pages do not slow the platform down.
 */
const MIN_REFRESH_MS = 500;
const MAX_REFRESH_MS = 4_000;

/** Decides when a page is fetched again. `max` is the maximum time between two refreshes in milliseconds. */
export const createRefreshPace = (max = MAX_REFRESH_MS) => {
  let refreshedAt = Date.now();
  let interval = MIN_REFRESH_MS;
  return {
    /** Reports a change. `isFirst` says whether it is the first one since the last refresh. */
    onChange: (/** @type {boolean} */ isFirst) => {
      if (isFirst && Date.now() - refreshedAt > 2 * interval) interval = MIN_REFRESH_MS;
    },
    /** Reports that the page is now fetched. */
    onRefresh: () => {
      refreshedAt = Date.now();
      interval = Math.min(interval * 2, max);
    },
    /** Makes the next refresh take place as early as possible, because the reader waits for it. */
    hurry: () => {
      interval = MIN_REFRESH_MS;
    },
    /** Returns the time since the last refresh in milliseconds. */
    age: () => Date.now() - refreshedAt,
    /** Returns the time until the next refresh in milliseconds. `wait` replaces the current time between refreshes. */
    delay: (wait = interval) => Math.max(0, refreshedAt + wait - Date.now()),
  };
};
