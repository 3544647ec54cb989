import type pg from 'pg';
import { comparePositions, type Position, type Recorded } from '../../domain/event.ts';
import { isRefusedValue } from '../postgres/pool.ts';
import { commitBatch } from './commit-batch.ts';
import type { ProjectionWriter, WriteSet } from './projection-writer.ts';

/** Events in log order. `to` is the position up to which the log has been read. */
export type Batch = { readonly events: readonly Recorded[]; readonly to: Position };

const parkEvent = (writeSet: WriteSet, event: Recorded, error: unknown): WriteSet => ({
  ...writeSet,
  writes: new Map(),
  unapplied: [{ event, reason: `the database refuses it: ${(error as Error).message}`, first: true }],
});

/**
 * Writes a batch to one projection after the database has refused a value in it. The batch is divided in halves until
 * the event with this value is found, and this event is parked.
 */
const writeBisected = async (writer: ProjectionWriter, db: pg.PoolClient, { events, to }: Batch): Promise<void> => {
  const writeSet = await writer.prepare(db, events, to, true);
  const { from } = writeSet;
  const fresh = from ? events.filter(({ position }) => comparePositions(position, from) > 0) : events;
  try {
    await commitBatch(db, [writeSet]);
    writer.markWritten(writeSet);
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    if (fresh.length <= 1) {
      const parked = fresh[0] ? parkEvent(writeSet, fresh[0], error) : writeSet;
      await commitBatch(db, [parked]);
      return writer.markWritten(parked);
    }
    const half = fresh.length >> 1;
    await writeBisected(writer, db, { events: fresh.slice(0, half), to: fresh[half - 1]!.position });
    await writeBisected(writer, db, { events: fresh.slice(half), to });
  }
};

/** Returns whether a write set changes rows or parked events, and not only the checkpoint. */
const hasRows = ({ writes, unapplied, retriedStreams }: WriteSet): boolean =>
  writes.size > 0 || unapplied.length > 0 || retriedStreams !== undefined;

/**
 * Writes the changes of a batch to all projections in one transaction. If the batch changes nothing in a projection,
 * its new position is only announced, and `writeCheckpoints` stores the checkpoint later. If the process crashes before
 * that, the projection reads the events again, which does no harm.
 */
export const writeBatch = async (writers: readonly ProjectionWriter[], db: pg.PoolClient, batch: Batch): Promise<void> => {
  const { events, to } = batch;
  const behind = writers.filter((writer) => !writer.position() || comparePositions(to, writer.position()!) > 0);
  if (behind.length === 0) return;
  const writeSets = await Promise.all(behind.map((writer) => writer.prepare(db, events, to)));
  const idle = new Set(writeSets.filter((writeSet) => !hasRows(writeSet)));
  const changed = writeSets.filter((writeSet) => !idle.has(writeSet));
  try {
    await commitBatch(db, changed, [...idle]);
    for (const [index, writer] of behind.entries())
      writer.markWritten(writeSets[index]!, idle.has(writeSets[index]!) ? 'later' : 'written');
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    for (const writer of behind) await writeBisected(writer, db, batch);
  }
};

/** Stores the checkpoints that lag behind their writers' positions. */
export const writeCheckpoints = async (writers: readonly ProjectionWriter[], db: pg.PoolClient): Promise<void> => {
  const behind = writers.filter((writer) => writer.pendingCheckpoint() !== null);
  const writeSets = behind.map((writer) => writer.pendingCheckpoint()!);
  if (writeSets.length > 0) await commitBatch(db, writeSets);
  for (const [index, writer] of behind.entries()) writer.markWritten(writeSets[index]!);
};
