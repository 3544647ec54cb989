/** One key's token bucket in this process. All spans are milliseconds of the policy's window. */
export type BucketState = {
  /** The key of the row that the processes share. */
  readonly rowKey: string;
  /** How much this process may spend before the row has been charged. */
  readonly lease: number;
  /** Unix time at which the bucket will be full again. */
  fullAt: number;
  /** How much of `fullAt` the row has not been charged with. */
  unsettled: number;
  isQueued: boolean;
  /** Monotonic time of the row's last answer. */
  settledAt: number;
  /** Monotonic time since which the bucket has had no token. */
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
