/**
 * The limits of the time between the starts of two refreshes. The first change is shown at once. While more changes
 * arrive, a page whose refreshes take at most 90 ms shows each of them within a second.
 */
const MIN_REFRESH_MS = 500;
const MAX_REFRESH_MS = 4_000;
/**
 * A page waits for answers in at most a tenth of the time. If refreshes are slow, the platform is busy: then pages are
 * fetched less often, so that they do not slow it down further.
 */
const PART_OF_TIME = 10;
/** If a refresh takes even longer than the maximum, the page waits for half of its duration before the next one. */
const LEAST_PAUSE = 1.5;

/** Decides when a page is fetched again. */
export const createRefreshPace = () => {
  let startedAt = Date.now();
  let interval = MIN_REFRESH_MS;
  return {
    /** Reports that the page is now fetched. */
    onRefresh: () => {
      startedAt = Date.now();
    },
    /** Reports that the page has been fetched. The longer this took, the later the next refresh takes place. */
    onRefreshed: () => {
      const duration = Date.now() - startedAt;
      interval = Math.max(MIN_REFRESH_MS, Math.min(PART_OF_TIME * duration, MAX_REFRESH_MS), LEAST_PAUSE * duration);
    },
    /** Makes the next refresh take place as early as possible, because the reader waits for it. */
    hurry: () => {
      interval = MIN_REFRESH_MS;
    },
    /** Returns the time since the start of the last refresh in milliseconds. */
    age: () => Date.now() - startedAt,
    /** Returns the time until the next refresh in milliseconds. `wait` replaces the current time between refreshes. */
    delay: (wait = interval) => Math.max(0, startedAt + wait - Date.now()),
  };
};

export const secondsText = (/** @type {number} */ ms) => {
  const seconds = Math.floor(ms / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
};

/** Compares two positions of the log. */
export const isLater = (/** @type {string} */ token, /** @type {string} */ than) =>
  BigInt(token.split(':')[0] ?? 0) > BigInt(than.split(':')[0] ?? 0);
