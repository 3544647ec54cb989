import type { Logger } from 'pino';
import { createBackoff } from '../backoff.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import type { Spool } from './open-spool.ts';
import type { WaitingEntry } from './spool-storage.ts';
import { deliveryOf, type SpooledDelivery } from './spooled-delivery.ts';

const PAGE = { rows: 512, bytes: 8 * 1024 ** 2 };
const ONE = { rows: 1, bytes: 1 };
/** The maximum number of deliveries of one integration that are recorded at the same time. */
const MAX_WINDOW = 32;
const MAX_FAILED = 1_000;
const RETRY_DELAY = { minMs: 250, maxMs: 2_000, jitter: 0.25 };

/**
 * What happened to a delivery. `recorded`: it was recorded now. `known`: it was recorded before. `erased`: its tenant
 * was erased. `refused`: it can never be recorded. `unavailable`: the event store failed; it must be tried again.
 * `key_unreadable`: the data key of its tenant cannot be decrypted; it must be tried again.
 */
export type DrainResult = 'recorded' | 'known' | 'erased' | { readonly refused: string } | 'unavailable' | 'key_unreadable';

const isToBeTriedAgain = (result: DrainResult): boolean => result === 'unavailable' || result === 'key_unreadable';

export type DrainOptions = {
  readonly spool: Spool;
  readonly breaker: CircuitBreaker;
  /** The log recognises an earlier attempt by the event id. Never rejects. */
  readonly record: (delivery: SpooledDelivery) => Promise<DrainResult>;
  readonly onDrained: (result: 'recorded' | 'known' | 'erased' | 'parked') => void;
  readonly logger: Pick<Logger, 'warn'>;
};

/** `done` are rows that can be removed. `hasStoreFailed`: the event store has failed to record a delivery. */
type Drained = { readonly done: readonly number[]; readonly hasStoreFailed: boolean };

/**
 * The state of one drain. `window` is the number of deliveries of one integration that are recorded at the same time.
 * `failed` are the integrations with deliveries that could not be recorded recently. Other integrations are tried
 * first, because the reason may concern only those in `failed`, for example the data key of their tenant.
 */
type Drain = DrainOptions & { window: number; readonly failed: Set<string> };

/**
 * Parks a refused delivery, and reports one that is done. Does nothing if it must be tried again. Returns whether its row can be removed.
 */
const settle = async ({ spool, onDrained, logger }: Drain, { seq, entry }: WaitingEntry, result: DrainResult): Promise<boolean> => {
  if (isToBeTriedAgain(result)) return false;
  const { tenant, integration, delivery } = entry;
  const isRefused = typeof result !== 'string';
  if (isRefused) {
    logger.warn({ tenant, delivery, error: result.refused }, 'a delivery in the spool was refused, and is kept there');
    await spool.park(seq, result.refused);
  }
  onDrained(isRefused ? 'parked' : (result as 'recorded' | 'known' | 'erased'));
  spool.settle(integration);
  return !isRefused;
};

/** Records in order, a few at once, because the event store keeps the order of a connection; after a failure, one at a time. */
const drainIntegration = async (drain: Drain, entries: readonly WaitingEntry[]): Promise<Drained> => {
  const done: number[] = [];
  const deliveries = entries.map((waiting) => ({ waiting, delivery: deliveryOf(waiting.entry) }));
  while (deliveries.length > 0) {
    const sent = deliveries.splice(0, deliveries[0]!.delivery.isReplayUnchecked ? 1 : drain.window);
    const results = await Promise.all(sent.map(({ delivery }) => drain.record(delivery)));
    for (const [index, { waiting }] of sent.entries()) if (await settle(drain, waiting, results[index]!)) done.push(waiting.seq);
    const hasStoreFailed = results.includes('unavailable');
    if (hasStoreFailed) drain.window = 1;
    if (results.some(isToBeTriedAgain)) {
      drain.failed.add(entries[0]!.entry.integration);
      return { done, hasStoreFailed };
    }
    drain.window = Math.min(MAX_WINDOW, 2 * drain.window);
  }
  return { done, hasStoreFailed: false };
};

/**
 * Records the deliveries that have waited longest; integrations in parallel. After a failure, tries only one delivery. After 'recorded' and
 * 'try others', the next page can follow at once; after 'wait', a pause is necessary.
 */
const drainPage = async (drain: Drain): Promise<'recorded' | 'try others' | 'wait'> => {
  const { spool, breaker, failed } = drain;
  const entries = await spool.first({ ...(drain.window === 1 ? ONE : PAGE), except: [...failed] });
  if (entries.length === 0 || failed.size > MAX_FAILED) {
    failed.clear();
    return 'wait';
  }
  const byIntegration = [...Map.groupBy(entries, ({ entry }) => entry.integration).values()];
  const failedBefore = failed.size;
  const results = await Promise.all(byIntegration.map((each) => drainIntegration(drain, each)));
  const done = results.flatMap((result) => result.done);
  if (done.length === 0 && failed.size > failedBefore) {
    if (!results.some(({ hasStoreFailed }) => hasStoreFailed)) return 'try others';
    breaker.failed('the event store records no delivery of the spool');
    return 'wait';
  }
  // The event store works again: failures while the breaker was open came from the outage, not from the integrations.
  if (breaker.isOpen()) failed.clear();
  breaker.succeeded();
  if (done.length > 0) await spool.remove(done);
  return 'recorded';
};

/**
 * Records whenever the event store can be reached, in order for each integration. A success closes the circuit breaker. `close` resolves
 * when the current page is recorded.
 */
export const startSpoolDrain = (options: DrainOptions): { readonly close: () => Promise<void> } => {
  const { spool, logger } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const backoff = createBackoff(RETRY_DELAY);
  const drain: Drain = { ...options, window: 1, failed: new Set() };

  const drainOnce = (): ReturnType<typeof drainPage> =>
    drainPage(drain).catch((error: Error) => {
      logger.warn({ error: error.message }, 'the spool of deliveries could not be read or written');
      return 'wait';
    });

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await spool.untilFilled(signal);
      if (signal.aborted) return;
      const result = await drainOnce();
      if (result === 'wait') await backoff.wait(signal);
      if (result === 'recorded') backoff.reset();
    }
  };

  const finished = run();
  return {
    close: async () => {
      closing.abort();
      await finished;
    },
  };
};
