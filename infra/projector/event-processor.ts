import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { comparePositions, type Position, type Recorded } from '../../domain/event.ts';
import type { Filter, Log, Subscription } from '../eventstore/event-log.ts';
import { isDown } from '../postgres/pool.ts';
import { isFenced } from './commit-batch.ts';
import type { ProjectionWriter } from './projection-writer.ts';
import { type Batch, writeBatch, writeCheckpoints } from './write-batch.ts';

const MIN_BATCH = 64;
const MAX_BATCH = 8_192;
const SHORT_MS = 150;
const LONG_MS = 600;
/** While so many come at once, the next batch gathers a little longer: what a batch costs is paid less often. */
const BUSY = 16;
const GATHER_MS = 25;
/** So long the checkpoints of projections that had nothing to write may stand behind. */
const IDLE_MS = 100;

/** Members that read the log together: an event is decoded once, and what it changes in all of them is written in one transaction. */
export type EventProcessor = {
  readonly members: () => readonly ProjectionWriter[];
  readonly position: () => Position | null;
  /** Events a second over the last seconds. */
  readonly rate: () => number;
  readonly waiting: () => number;
  /** How far apart in the log two events have lain on average: what an estimate of a lag rests on. */
  readonly stretch: () => number;
  readonly caughtUp: () => boolean;
  /** It has ended by itself: what becomes of its members is told by `broken`, now or soon. */
  readonly failed: () => boolean;
  /** Runs between two batches, when every member stands at the lane's position; what it returns become the members. */
  readonly between: <T>(
    work: (members: readonly ProjectionWriter[], db: pg.PoolClient) => Promise<{ members: readonly ProjectionWriter[]; result: T }>,
  ) => Promise<T>;
  readonly stop: () => Promise<void>;
};

export type LaneOptions = {
  readonly log: Log;
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly members: readonly ProjectionWriter[];
  readonly from: Position | null;
  readonly filter?: Filter | undefined;
  readonly caughtUp: () => void;
  /** The lane has ended by itself: its members have to be opened again. */
  readonly broken: (error: Error, members: readonly ProjectionWriter[]) => void;
};

/** Whether something was asked of a lane just when it ended: its members are on their way to another one. */
export const hasEnded = (error: unknown): boolean => error instanceof Error && 'ended' in error;

/** Counts by quarters of a second, of which the last few are kept. */
const rateOver = (quarters: number) => {
  const counts: { quarter: number; count: number }[] = [];
  const now = () => Math.floor(performance.now() / 250);
  return {
    add: (count: number) => {
      const last = counts.at(-1);
      if (last?.quarter === now()) last.count += count;
      else counts.push({ quarter: now(), count });
      if (counts.length > quarters) counts.shift();
    },
    value: () => {
      const fresh = counts.filter(({ quarter }) => quarter > now() - quarters);
      const over = Math.max(4, now() - (fresh[0]?.quarter ?? 0) + 1);
      return (fresh.reduce((sum, { count }) => sum + count, 0) * 4) / over;
    },
  };
};

const NO_BYTES = new Uint8Array(0);

/** No view is made of the bytes that somebody delivered, and thousands of events may wait. */
export const withoutBytes = (event: Recorded): Recorded => (event.data instanceof Uint8Array ? { ...event, data: NO_BYTES } : event);

/** What arrives from the log waits here; its reader is held back while too much waits. */
const intake = () => {
  let events: Recorded[] = [];
  let tail: Position | null = null;
  let wake = () => {};
  let drained = () => {};
  return {
    size: () => events.length,
    event: (event: Recorded): void | Promise<void> => {
      events.push(withoutBytes(event));
      tail = event.position;
      wake();
      if (events.length < MAX_BATCH) return;
      return new Promise((resolve) => {
        drained = resolve;
      });
    },
    checkpoint: (position: Position): void => {
      if (tail && comparePositions(position, tail) <= 0) return;
      tail = position;
      wake();
    },
    take: (most: number): Batch | null => {
      const to = events.length > most ? events[most - 1]!.position : tail;
      if (!to) return null;
      const taken = events.length > most ? events.splice(0, most) : events;
      if (taken === events) {
        events = [];
        tail = null;
      }
      if (events.length < MAX_BATCH / 2) drained();
      return { events: taken, to };
    },
    arrival: (): Promise<void> =>
      new Promise((resolve) => {
        if (tail) return resolve();
        wake = resolve;
      }),
    wake: () => wake(),
    release: () => drained(),
  };
};

/** Starts reading for these members from a position that none of them is behind. */
export const startEventProcessor = ({ log, pool, logger, members: first, from, filter, caughtUp, broken }: LaneOptions): EventProcessor => {
  const inbox = intake();
  const rate = rateOver(20);
  let members = first;
  let position = from;
  let size = 512;
  /** Events of the last batch. */
  let written = 0;
  let stretch = 200;
  let stopped = false;
  let failed = false;
  let live = false;
  let end = false;
  /** Writes the checkpoints that batches left behind. */
  let quiet: NodeJS.Timeout | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let subscription: Subscription | null = null;

  /** Batches and what runs between them take turns. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work);
    turn = mine.catch(() => {});
    return mine;
  };
  const withClient = async <T>(work: (db: pg.PoolClient) => Promise<T>): Promise<T> => {
    const db = await pool.connect();
    let failure: Error | undefined;
    try {
      return await work(db);
    } catch (error) {
      failure = error as Error;
      throw error;
    } finally {
      db.release(failure && isDown(failure) ? failure : undefined);
    }
  };
  const checkpoint = async (): Promise<void> => {
    clearTimeout(quiet);
    quiet = undefined;
    if (members.some((member) => member.standing())) await withClient((db) => writeCheckpoints(members, db));
  };
  const batch = async (): Promise<void> => {
    const taken = inbox.take(size);
    if (!taken || stopped) return;
    written = taken.events.length;
    const started = performance.now();
    await withClient((db) => writeBatch(members, db, taken));
    // A lane that has ended meanwhile has given its members away.
    if (!stopped) quiet ??= setTimeout(() => void inTurn(checkpoint).catch(fail), IDLE_MS);
    if (position && taken.events.length > 0) stretch += (Number(taken.to.commit - position.commit) / taken.events.length - stretch) / 8;
    position = taken.to;
    rate.add(taken.events.length);
    const took = performance.now() - started;
    if (taken.events.length === size && took < SHORT_MS) size = Math.min(MAX_BATCH, size * 2);
    if (took > LONG_MS) size = Math.max(MIN_BATCH, size >> 1);
    if (end && !live && inbox.size() === 0) {
      live = true;
      caughtUp();
    }
  };
  const finish = async (): Promise<void> => {
    stopped = true;
    clearTimeout(quiet);
    inbox.release();
    inbox.wake();
    await subscription?.stop();
  };
  const fail = (error: Error): void => {
    if (stopped) return;
    failed = true;
    const names = members.map(({ name }) => name);
    logger.warn(
      { names, reason: error.message },
      isFenced(error) ? 'another writer is at work' : 'projections stopped; they will be opened again',
    );
    // What is under way is over before the members are given up: it may still move them.
    void finish()
      .catch(() => {})
      .then(() => turn)
      .then(() => broken(error, members));
  };
  const run = async (): Promise<void> => {
    while (!stopped) {
      await inbox.arrival();
      if (live && written >= BUSY && inbox.size() < size) await sleep(GATHER_MS);
      if (!stopped) await inTurn(batch);
    }
  };

  subscription = log.follow({
    from: from ?? undefined,
    filter,
    event: (event) => (stopped ? undefined : inbox.event(event)),
    checkpoint: (at) => (stopped || (position && comparePositions(at, position) <= 0) ? undefined : inbox.checkpoint(at)),
    caughtUp: () => {
      end = true;
      if (live || stopped || inbox.size() > 0) return;
      void inTurn(async () => {
        if (live || stopped || inbox.size() > 0) return;
        live = true;
        caughtUp();
      });
    },
  });
  void subscription.failure.then((error) => error && fail(error));
  const running = run().catch(fail);

  return {
    members: () => members,
    position: () => position,
    rate: rate.value,
    waiting: inbox.size,
    stretch: () => stretch,
    caughtUp: () => live && inbox.size() === 0,
    failed: () => failed,
    between: (work) =>
      inTurn(async () => {
        if (stopped) throw Object.assign(new Error('the lane has ended'), { ended: true });
        try {
          const { members: next, result } = await withClient((db) => work(members, db));
          members = next;
          return result;
        } catch (error) {
          if (isDown(error) || isFenced(error)) fail(error as Error);
          throw error;
        }
      }),
    stop: async () => {
      await finish();
      await running;
      await turn;
      if (!failed) await checkpoint().catch(() => {});
    },
  };
};
