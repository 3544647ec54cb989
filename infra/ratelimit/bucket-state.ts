/** The bucket of one key in this process. Amounts are times in milliseconds, in which the bucket refills that many tokens. */
export type BucketState = {
  /** The key of the bucket's row in the quota table, which all processes share. */
  readonly rowKey: string;
  /** The amount that this process may spend before it must charge the shared row. */
  readonly lease: number;
  /** In Unix milliseconds. */
  fullAt: number;
  /** The amount that this process has spent but not yet charged to the shared row. */
  unsettled: number;
  isQueued: boolean;
  /** The time at which the shared row was last charged or read (performance.now()). */
  settledAt: number;
  /** First found empty after the last token was taken (performance.now()); null before that. */
  emptySince: number | null;
  refreshing: Promise<void> | null;
};

export const newBucketState = (rowKey: string, lease: number, now: number): BucketState => ({
  rowKey,
  lease,
  fullAt: now,
  unsettled: 0,
  isQueued: false,
  settledAt: Number.NEGATIVE_INFINITY,
  emptySince: null,
  refreshing: null,
});
