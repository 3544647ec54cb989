import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { comparePositions, type Position } from '../../domain/event.ts';
import type { Filter, Log, Subscription } from '../eventstore/event-log.ts';
import { isUnavailable } from '../postgres/pool.ts';
import { isCheckpointConflict } from './commit-batch.ts';
import type { ErasedTenants } from './erased-tenants.ts';
import { createEventQueue, type EventQueue, MAX_BATCH, preparer } from './event-queue.ts';
import type { ProjectionWriter } from './projection-writer.ts';
import { createRateMeter, type RateMeter } from './rate-meter.ts';
import { writeBatch, writeCheckpoints } from './write-batch.ts';

const MIN_BATCH = 64;
const INITIAL_BATCH = 512;
/**
 * The batch size grows if a complete batch is written in less than SHORT_BATCH_MS. It shrinks if any batch takes longer
 * than LONG_BATCH_MS.
 */
const SHORT_BATCH_MS = 150;
const LONG_BATCH_MS = 600;
/**
 * After a batch of at least BUSY_BATCH events, a processor that has caught up waits GATHER_MS for more events. Each
 * batch has a fixed cost, so fewer and larger batches are cheaper.
 */
const BUSY_BATCH = 16;
const GATHER_MS = 25;
/**
 * The maximum time in milliseconds that a projection's stored checkpoint may lag behind the processed position while
 * the projection has no rows to write.
 */
const CHECKPOINT_DELAY_MS = 100;
/** The initial value of `averageGap`, used until real distances have been measured. */
const INITIAL_GAP = 200;

/**
 * Several projections that read the log through one subscription. Each event is decoded once, and the changes of a
 * batch to all projections are written in one transaction.
 */
export type EventProcessor = {
  readonly writers: () => readonly ProjectionWriter[];
  readonly position: () => Position | null;
  /** Returns the average over the last five seconds. */
  readonly eventsPerSecond: () => number;
  readonly queueSize: () => number;
  /** Returns the average distance between the log positions of two neighbouring events. The lag in events is estimated from it. */
  readonly averageGap: () => number;
  readonly isCaughtUp: () => boolean;
  /**
   * Whether the processor has stopped because of an error. Its writers are passed to `onFailure`, which may happen a
   * little later.
   */
  readonly hasFailed: () => boolean;
  /**
   * Runs `work` between two batches, when all writers are at the processor's position. The writers that `work` returns
   * replace the current ones.
   * @throws Error for which `isProcessorStopped` is true, if the processor has stopped
   */
  readonly betweenBatches: <T>(work: WorkBetweenBatches<T>) => Promise<T>;
  readonly stop: () => Promise<void>;
};

export type WorkBetweenBatches<T> = (
  writers: readonly ProjectionWriter[],
  db: pg.PoolClient,
) => Promise<{ writers: readonly ProjectionWriter[]; result: T }>;

export type EventProcessorOptions = {
  readonly log: Log;
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly writers: readonly ProjectionWriter[];
  readonly from: Position | null;
  readonly filter?: Filter | undefined;
  /** Gets each event before the writers do. So a tenant's erasure is known before the writers get later events of the tenant. */
  readonly erased: Pick<ErasedTenants, 'note'>;
  readonly onCaughtUp: () => void;
  /** Called when the processor has stopped because of an error. The caller must open its projections again. */
  readonly onFailure: (error: Error, writers: readonly ProjectionWriter[]) => void;
};

type State = {
  readonly options: EventProcessorOptions;
  readonly queue: EventQueue;
  readonly rate: RateMeter;
  writers: readonly ProjectionWriter[];
  position: Position | null;
  batchSize: number;
  lastBatchEvents: number;
  averageGap: number;
  isStopped: boolean;
  hasFailed: boolean;
  /** Whether the subscription has reached the end of the log. Queued events may still have to be written. */
  hasReadToEnd: boolean;
  isLive: boolean;
  checkpointTimer: NodeJS.Timeout | undefined;
  /** Settles when the last batch, or the last work between batches, has ended. Only one of them runs at a time. */
  turn: Promise<unknown>;
  subscription: Subscription | null;
};

/**
 * Returns whether an error means that work was not run because its event processor had stopped. Another processor
 * continues with the same projections.
 */
export const isProcessorStopped = (error: unknown): boolean => error instanceof Error && 'processorStopped' in error;

const inTurn = <T>(state: State, work: () => Promise<T>): Promise<T> => {
  const result = state.turn.then(work);
  state.turn = result.catch(() => {});
  return result;
};

const withClient = async <T>({ options }: State, work: (db: pg.PoolClient) => Promise<T>): Promise<T> => {
  const db = await options.pool.connect();
  let failure: Error | undefined;
  try {
    return await work(db);
  } catch (error) {
    failure = error as Error;
    throw error;
  } finally {
    db.release(failure && isUnavailable(failure) ? failure : undefined);
  }
};

const writePendingCheckpoints = async (state: State): Promise<void> => {
  clearTimeout(state.checkpointTimer);
  state.checkpointTimer = undefined;
  if (state.writers.some((writer) => writer.pendingCheckpoint())) await withClient(state, (db) => writeCheckpoints(state.writers, db));
};

const adaptBatchSize = (state: State, events: number, elapsedMs: number): void => {
  if (events === state.batchSize && elapsedMs < SHORT_BATCH_MS) state.batchSize = Math.min(MAX_BATCH, state.batchSize * 2);
  if (elapsedMs > LONG_BATCH_MS) state.batchSize = Math.max(MIN_BATCH, state.batchSize >> 1);
};

const writeNextBatch = async (state: State): Promise<void> => {
  const batch = state.queue.take(state.batchSize);
  if (!batch || state.isStopped) return;
  const { events, to } = batch;
  state.lastBatchEvents = events.length;
  const started = performance.now();
  await withClient(state, (db) => writeBatch(state.writers, db, batch));
  // If this processor was stopped during the batch, another processor may already use its writers. So no checkpoint is
  // scheduled.
  if (!state.isStopped)
    state.checkpointTimer ??= setTimeout(
      () => void inTurn(state, () => writePendingCheckpoints(state)).catch((error) => fail(state, error)),
      CHECKPOINT_DELAY_MS,
    );
  if (state.position && events.length > 0)
    state.averageGap += (Number(to.commit - state.position.commit) / events.length - state.averageGap) / 8;
  state.position = to;
  state.rate.add(events.length);
  adaptBatchSize(state, events.length, performance.now() - started);
  if (state.hasReadToEnd) becomeLive(state);
};

const becomeLive = (state: State): void => {
  if (state.isLive || state.queue.size() > 0) return;
  state.isLive = true;
  state.options.onCaughtUp();
};

const onReadToEnd = (state: State): void => {
  state.hasReadToEnd = true;
  if (state.isLive || state.isStopped || state.queue.size() > 0) return;
  void inTurn(state, async () => {
    if (!state.isStopped) becomeLive(state);
  });
};

const halt = async (state: State): Promise<void> => {
  state.isStopped = true;
  clearTimeout(state.checkpointTimer);
  state.queue.release();
  state.queue.wake();
  await state.subscription?.stop();
};

const fail = (state: State, error: Error): void => {
  if (state.isStopped) return;
  const { logger, onFailure } = state.options;
  state.hasFailed = true;
  const names = state.writers.map(({ name }) => name);
  logger.warn(
    { names, reason: error.message },
    isCheckpointConflict(error) ? 'another process writes these projections' : 'projections stopped; they will be opened again',
  );
  // The current batch may still change the writers. So they are passed to `onFailure` only after the batch has ended.
  void halt(state)
    .catch(() => {})
    .then(() => state.turn)
    .then(() => onFailure(error, state.writers));
};

const run = async (state: State): Promise<void> => {
  while (!state.isStopped) {
    await state.queue.arrival();
    if (state.isLive && state.lastBatchEvents >= BUSY_BATCH && state.queue.size() < state.batchSize) await sleep(GATHER_MS);
    if (!state.isStopped) await inTurn(state, () => writeNextBatch(state));
  }
};

const subscribe = (state: State): Subscription => {
  const { log, from, filter, erased } = state.options;
  const subscription = log.follow({
    from: from ?? undefined,
    filter,
    event: (event) => {
      if (state.isStopped) return;
      erased.note(event);
      return state.queue.add(event);
    },
    checkpoint: (at) =>
      state.isStopped || (state.position && comparePositions(at, state.position) <= 0) ? undefined : state.queue.advance(at),
    caughtUp: () => onReadToEnd(state),
  });
  void subscription.failure.then((error) => error && fail(state, error));
  return subscription;
};

const workBetweenBatches = <T>(state: State, work: WorkBetweenBatches<T>): Promise<T> =>
  inTurn(state, async () => {
    if (state.isStopped) throw Object.assign(new Error('the event processor has stopped'), { processorStopped: true });
    try {
      const { writers, result } = await withClient(state, (db) => work(state.writers, db));
      state.writers = writers;
      return result;
    } catch (error) {
      if (isUnavailable(error) || isCheckpointConflict(error)) fail(state, error as Error);
      throw error;
    }
  });

/** Starts to read the log for these writers. All of them must be at the position `options.from`. */
export const startEventProcessor = (options: EventProcessorOptions): EventProcessor => {
  const state: State = {
    options,
    // With a filter, there is no projection of all categories among the writers, and none can join them later.
    queue: createEventQueue(preparer(options.filter === undefined)),
    rate: createRateMeter(20),
    writers: options.writers,
    position: options.from,
    batchSize: INITIAL_BATCH,
    lastBatchEvents: 0,
    averageGap: INITIAL_GAP,
    isStopped: false,
    hasFailed: false,
    hasReadToEnd: false,
    isLive: false,
    checkpointTimer: undefined,
    turn: Promise.resolve(),
    subscription: null,
  };
  state.subscription = subscribe(state);
  const running = run(state).catch((error) => fail(state, error));
  return {
    writers: () => state.writers,
    position: () => state.position,
    eventsPerSecond: state.rate.perSecond,
    queueSize: state.queue.size,
    averageGap: () => state.averageGap,
    isCaughtUp: () => state.isLive && state.queue.size() === 0,
    hasFailed: () => state.hasFailed,
    betweenBatches: (work) => workBetweenBatches(state, work),
    stop: async () => {
      await halt(state);
      await running;
      await state.turn;
      if (!state.hasFailed) await writePendingCheckpoints(state).catch(() => {});
    },
  };
};
