const INTERVAL_MS = 250;
const INTERVALS_PER_SECOND = 1_000 / INTERVAL_MS;

export type RateMeter = { readonly add: (count: number) => void; readonly perSecond: () => number };

/** Creates a meter that measures a rate over the last `intervals` intervals of 250 ms. */
export const createRateMeter = (intervals: number): RateMeter => {
  const counts: { interval: number; count: number }[] = [];
  const now = () => Math.floor(performance.now() / INTERVAL_MS);
  return {
    add: (count) => {
      const last = counts.at(-1);
      if (last?.interval === now()) last.count += count;
      else counts.push({ interval: now(), count });
      if (counts.length > intervals) counts.shift();
    },
    perSecond: () => {
      const recent = counts.filter(({ interval }) => interval > now() - intervals);
      const elapsed = Math.max(INTERVALS_PER_SECOND, now() - (recent[0]?.interval ?? 0) + 1);
      return (recent.reduce((sum, { count }) => sum + count, 0) * INTERVALS_PER_SECOND) / elapsed;
    },
  };
};
