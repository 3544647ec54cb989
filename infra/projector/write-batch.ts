import type pg from 'pg';
import { comparePositions, type Position, type Recorded } from '../../domain/event.ts';
import { isRefusedValue } from '../postgres/pool.ts';
import { commit } from './commit-batch.ts';
import type { ProjectionWriter, WriteSet } from './projection-writer.ts';

/** Events in the order of the log, and up to where it was read. */
export type Batch = { readonly events: readonly Recorded[]; readonly to: Position };

const refused = (entry: WriteSet, event: Recorded, error: unknown): WriteSet => ({
  ...entry,
  writes: new Map(),
  unapplied: [{ event, reason: `the database refuses it: ${(error as Error).message}`, first: true }],
});

/** One member alone, in halves down to the event that the database refuses: that one is parked. */
const careful = async (member: ProjectionWriter, db: pg.PoolClient, events: readonly Recorded[], to: Position): Promise<void> => {
  const entry = await member.entry(db, events, to, true);
  const own = entry.from ? events.filter(({ position }) => comparePositions(position, entry.from!) > 0) : events;
  try {
    await commit(db, [entry]);
    member.done(entry);
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    if (own.length <= 1) {
      const parked = own[0] ? refused(entry, own[0], error) : entry;
      await commit(db, [parked]);
      return member.done(parked);
    }
    const half = own.length >> 1;
    await careful(member, db, own.slice(0, half), own[half - 1]!.position);
    await careful(member, db, own.slice(half), to);
  }
};

/** Whether anything but where the projection stands is to be written. */
const isWork = ({ writes, unapplied, retried }: WriteSet): boolean => writes.size > 0 || unapplied.length > 0 || retried !== undefined;

/**
 * Writes what a batch changes in one transaction. Of members in which it changes nothing only the listeners are told how far they are: their
 * checkpoints may stand behind until `writeCheckpoints`, where nothing is lost but the reading again.
 */
export const writeBatch = async (members: readonly ProjectionWriter[], db: pg.PoolClient, { events, to }: Batch): Promise<void> => {
  const behind = members.filter((member) => !member.position() || comparePositions(to, member.position()!) > 0);
  if (behind.length === 0) return;
  const entries = await Promise.all(behind.map((member) => member.entry(db, events, to)));
  const quiet = new Set(entries.filter((entry) => !isWork(entry)));
  const working = entries.filter((entry) => !quiet.has(entry));
  try {
    await commit(db, working, [...quiet]);
    for (const [index, member] of behind.entries()) member.done(entries[index]!, quiet.has(entries[index]!) ? 'later' : 'written');
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    for (const member of behind) await careful(member, db, events, to);
  }
};

/** Writes the checkpoints that stand behind their members. */
export const writeCheckpoints = async (members: readonly ProjectionWriter[], db: pg.PoolClient): Promise<void> => {
  const behind = members.filter((member) => member.standing() !== null);
  const entries = behind.map((member) => member.standing()!);
  if (entries.length > 0) await commit(db, entries);
  for (const [index, member] of behind.entries()) member.done(entries[index]!);
};
