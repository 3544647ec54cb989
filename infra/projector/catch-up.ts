import type pg from 'pg';
import { comparePositions, type Position, type Recorded } from '../../domain/event.ts';
import type { Log } from '../eventstore/event-log.ts';
import { preparer } from './event-queue.ts';
import type { ProjectionWriter } from './projection-writer.ts';
import { writeBatch, writeCheckpoints } from './write-batch.ts';

const CATCH_UP_BATCH = 4_096;

type Range = { readonly from: Position | null; readonly to: Position; readonly prepare: (event: Recorded) => Recorded };

/** Reads the events after `from`, up to and including `to`, and passes them to `onEvents` in batches. */
const readRange = (log: Log, { from, to, prepare }: Range, onEvents: (events: readonly Recorded[]) => Promise<void>): Promise<void> =>
  new Promise((resolve, reject) => {
    let events: Recorded[] = [];
    let hasEnded = false;
    const flush = () => {
      const batch = events;
      events = [];
      return onEvents(batch);
    };
    const end = () => {
      if (hasEnded) return;
      hasEnded = true;
      void subscription.stop().then(flush).then(resolve, reject);
    };
    const subscription = log.follow({
      from: from ?? undefined,
      event: (event) => {
        if (hasEnded) return;
        const order = comparePositions(event.position, to);
        if (order <= 0) events.push(prepare(event));
        if (order >= 0) return end();
        return events.length < CATCH_UP_BATCH ? undefined : flush();
      },
      checkpoint: (position) => (comparePositions(position, to) >= 0 ? end() : undefined),
      caughtUp: end,
    });
    void subscription.failure.then((error) => error && reject(error));
  });

/** Moves writers from the position `from` to the position `to`: applies the events in between, and stores the new checkpoints. */
export const catchUpTo = async (
  log: Log,
  db: pg.PoolClient,
  writers: readonly ProjectionWriter[],
  { from, to }: { readonly from: Position | null; readonly to: Position | null },
): Promise<void> => {
  if (!to || (from && comparePositions(from, to) >= 0)) return;
  const prepare = preparer(writers.some(({ compiled }) => compiled.projection.categories === '*'));
  await readRange(log, { from, to, prepare }, async (events) => {
    const last = events.at(-1);
    if (last) await writeBatch(writers, db, { events, to: last.position });
  });
  await writeBatch(writers, db, { events: [], to });
  await writeCheckpoints(writers, db);
};
