import { setTimeout as sleep } from 'node:timers/promises';

/** What processes share: a row a key, charged with so many milliseconds of its window. @returns in how many ms each one is full again */
export type QuotaTable = { readonly charge: (costs: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, number>> };

/**
 * One key's bucket in this process, in ms: `at` when it is full, `owed` how much of that its row has not heard of, `lease` how much that
 * may be. By the monotonic clock: when the row answered last (`heard`), and since when there is no token (`emptied`).
 */
export type BucketState = {
  readonly row: string;
  readonly lease: number;
  at: number;
  owed: number;
  isDue: boolean;
  heard: number;
  emptied: number | null;
  hearing: Promise<void> | null;
};

export const newBucketState = (row: string, lease: number, now: number): BucketState => ({
  row,
  lease,
  at: now,
  owed: 0,
  isDue: false,
  heard: Number.NEGATIVE_INFINITY,
  emptied: null,
  hearing: null,
});

const SETTLE_MS = 100;
/** In this time every process has settled what it spent before. */
const OTHERS_MS = 150;
const RETRY_MS = 1_000;

const sumsOf = (accounts: readonly BucketState[]): Map<string, number> => {
  const sums = new Map<string, number>();
  for (const { row, owed } of accounts) sums.set(row, (sums.get(row) ?? 0) + owed);
  return sums;
};

/**
 * Settles accounts with their rows, all that are due in one statement: ten times a second, sooner where one has spent half of its lease.
 * Nobody waits for that but who has spent a whole one. While the rows can't be reached nobody waits at all; it asks once a second.
 */
export const createQuotaSync = (rows: QuotaTable, clock: () => number = Date.now) => {
  let due: BucketState[] = [];
  let running: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isDown = false;

  const arm = (): void => {
    if (due.length > 0) timer ??= setTimeout(flush, isDown ? RETRY_MS : SETTLE_MS).unref();
  };

  const note = (account: BucketState): void => {
    if (!account.isDue) due.push(account);
    account.isDue = true;
    arm();
  };

  const settle = async (): Promise<void> => {
    const accounts = due;
    due = [];
    for (const account of accounts) account.isDue = false;
    const costs = accounts.map(({ owed }) => owed);
    const asked = clock();
    try {
      const aheads = await rows.charge(sumsOf(accounts));
      isDown = false;
      for (const [index, account] of accounts.entries()) {
        account.owed -= costs[index]!;
        account.at = Math.max(account.at, asked + (aheads.get(account.row) ?? 0) + account.owed);
        account.heard = performance.now();
      }
    } catch {
      isDown = true;
      // What has been refilled since is owed no more, or the rows would shut everybody out when they are back.
      for (const account of accounts) account.owed = Math.min(account.owed, Math.max(account.lease, account.at - clock()));
      for (const account of accounts) note(account);
    }
  };

  const flush = (): Promise<void> => {
    if (running) return running;
    clearTimeout(timer);
    timer = undefined;
    running = settle().finally(() => {
      running = null;
      arm();
    });
    return running;
  };

  const hear = async (account: BucketState): Promise<void> => {
    await sleep(OTHERS_MS);
    const asked = performance.now();
    // Twice where one was under way that may not have asked for this one.
    for (let asks = 0; asks < 2 && !isDown && account.heard < asked; asks++) {
      note(account);
      await flush();
    }
  };

  return {
    isDown: (): boolean => isDown,
    /** A token of `cost` ms was spent. */
    owe: (account: BucketState, cost: number): void => {
      account.owed += cost;
      account.emptied = null;
      note(account);
      if (account.owed * 2 >= account.lease && !running && !isDown) void flush();
    },
    /** Decides once nobody has to wait any more. */
    whenSettled: async <T>(waits: () => boolean, decide: () => T): Promise<T> => {
      while (waits() && !isDown) await flush();
      return decide();
    },
    /** An empty one hears from its row once the others have settled what they spent till then; after that at once. */
    refresh: (account: BucketState): Promise<void> => {
      account.emptied ??= performance.now();
      if (isDown || account.heard >= account.emptied + OTHERS_MS) return Promise.resolve();
      account.hearing ??= hear(account).finally(() => {
        account.hearing = null;
      });
      return account.hearing;
    },
  };
};

export type QuotaSync = ReturnType<typeof createQuotaSync>;
