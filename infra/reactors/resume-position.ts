import { comparePositions, PLATFORM, type Position, parseToken, type Recorded, streamName } from '../../domain/event.ts';
import * as Publication from '../../domain/runners/publication.ts';
import type { Log } from '../eventstore/event-log.ts';
import { type LastMessage, MAX_MESSAGE_AGE_MS, STREAM } from '../nats/jetstream.ts';

/** How much earlier a position is than requested, in milliseconds: the clocks of the processes that write events and records differ. */
const CLOCK_TOLERANCE_MS = 60_000;
const RECORDS = streamName(Publication.category, PLATFORM, Publication.STREAM_ID);

type PublicationRecord = Recorded<Publication.PublicationEvent>;

const recordAt = async (log: Log, revision: number): Promise<PublicationRecord> => {
  const [record] = await Array.fromAsync(log.read(RECORDS, { from: revision, limit: 1 }));
  return record as PublicationRecord;
};

/**
 * Returns a position before every event younger than `ageMs`; undefined (the start of the log) if none is known. Searches the records of
 * published messages, which are at most two seconds apart: reads about 20 events of a million.
 * @throws LogError, the reason of the aborted signal
 */
export const positionBefore = async (log: Log, ageMs: number, signal: AbortSignal): Promise<Position | undefined> => {
  const oldest = new Date(Date.now() - ageMs - CLOCK_TOLERANCE_MS).toISOString();
  const last = await log.last(RECORDS);
  let found: PublicationRecord | undefined;
  let [low, high] = [0, last?.revision ?? -1];
  while (low <= high) {
    signal.throwIfAborted();
    const middle = (low + high) >>> 1;
    const record = await recordAt(log, middle);
    if (record.at < oldest) {
      found = record;
      low = middle + 1;
    } else high = middle - 1;
  }
  return found && (parseToken(found.data.through) ?? undefined);
};

/** A relay that starts beyond the end of the log would skip the next events. @throws Error if the log ends before the position */
const requireReached = async (log: Log, position: Position): Promise<Position> => {
  for await (const last of log.readAll({ backwards: true, limit: 1 })) if (comparePositions(last.position, position) >= 0) return position;
  throw new Error(`the stream ${STREAM} on the broker holds messages of another log, or of a later state of this log: delete the stream`);
};

/**
 * Returns the position of the stream's last message or, in an empty stream, one before all events younger than MAX_MESSAGE_AGE_MS;
 * undefined (the start of the log) if none is known.
 * @throws Error if the stream contains messages of another log
 */
export const resumePosition = (log: Log, { token }: LastMessage, signal: AbortSignal): Promise<Position | undefined> => {
  const position = token === null ? null : parseToken(token);
  return position ? requireReached(log, position) : positionBefore(log, MAX_MESSAGE_AGE_MS, signal);
};

/**
 * Returns a function that returns whether the message of an event would have expired on the broker. Only events that are
 * in the log now can have expired: a later one is new, even if the clock of the process that appends it is wrong.
 */
export const expiryCheck = async (log: Log): Promise<(event: Pick<Recorded, 'at' | 'position'>) => boolean> => {
  const oldest = new Date(Date.now() - MAX_MESSAGE_AGE_MS).toISOString();
  const [last] = await Array.fromAsync(log.readAll({ backwards: true, limit: 1 }));
  return ({ at, position }) => last !== undefined && at < oldest && comparePositions(position, last.position) <= 0;
};
