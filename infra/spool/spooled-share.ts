const BUCKET_MS = 60_000;
const BUCKETS = 5;

type Bucket = { number: number; direct: number; spooled: number };

export type SpooledShare = {
  readonly add: (isSpooled: boolean) => void;
  /** Returns which share of the deliveries of the last five minutes went through the spool: 0 to 1, and 0 without any. */
  readonly share: () => number;
};

/** Counts deliveries by minute. `now` returns milliseconds. */
export const createSpooledShare = (now: () => number = () => performance.now()): SpooledShare => {
  let buckets: Bucket[] = [];
  const current = (): Bucket => {
    const number = Math.floor(now() / BUCKET_MS);
    buckets = buckets.filter((bucket) => number - bucket.number < BUCKETS);
    const found = buckets.find((bucket) => bucket.number === number);
    if (found) return found;
    const bucket = { number, direct: 0, spooled: 0 };
    buckets.push(bucket);
    return bucket;
  };
  return {
    add: (isSpooled) => void current()[isSpooled ? 'spooled' : 'direct']++,
    share: () => {
      current();
      const spooled = buckets.reduce((sum, bucket) => sum + bucket.spooled, 0);
      const all = buckets.reduce((sum, bucket) => sum + bucket.direct, spooled);
      return all === 0 ? 0 : spooled / all;
    },
  };
};
