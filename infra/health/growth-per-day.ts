/** `bytes` is the commit position of the log's last event. */
type Sample = { readonly at: number; readonly bytes: bigint };

const DAY_MS = 86_400_000;
/** In milliseconds. */
const SAMPLE_INTERVAL_MS = 30 * 60_000;
/** The shortest time in milliseconds from which the growth of a day is estimated. */
const MIN_SPAN_MS = 10 * 60_000;

/**
 * Creates the function that returns by how many bytes the log increases per day. Its arguments are the end of the log
 * and the time `at` (milliseconds), which it compares with a sample of at most about a day ago. It returns null while
 * the first sample is less than ten minutes old.
 */
export const estimateGrowth = (): ((bytes: bigint, at: number) => number | null) => {
  const samples: Sample[] = [];
  return (bytes, at) => {
    const newest = samples.at(-1);
    if (!newest || at - newest.at >= SAMPLE_INTERVAL_MS) samples.push({ at, bytes });
    while (samples.length > 1 && at - samples[1]!.at >= DAY_MS) samples.shift();
    const [oldest] = samples as [Sample];
    const span = at - oldest.at;
    return span < MIN_SPAN_MS ? null : Math.round((Number(bytes - oldest.bytes) * DAY_MS) / span);
  };
};
