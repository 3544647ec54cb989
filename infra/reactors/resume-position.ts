import { comparePositions, type Position, parseToken } from '../../domain/event.ts';
import type { Log } from '../eventstore/event-log.ts';
import { type LastMessage, MAX_MESSAGE_AGE_MS, STREAM } from '../nats/jetstream.ts';

/**
 * Searches the log backwards.
 * @returns the position of the last event that is older than `ageMs` milliseconds; undefined if there is none
 * @throws the reason of the aborted signal
 */
export const lastPositionOlderThan = async (log: Log, ageMs: number, signal: AbortSignal): Promise<Position | undefined> => {
  const oldest = new Date(Date.now() - ageMs).toISOString();
  for await (const event of log.readAll({ backwards: true })) {
    signal.throwIfAborted();
    if (event.at < oldest) return event.position;
  }
  return undefined;
};

/**
 * Returns the position, after checking that the log reaches at least to it. A relay that started beyond the end of the
 * log would skip the next events.
 * @throws Error if the log ends before the position
 */
const requireReached = async (log: Log, position: Position): Promise<Position> => {
  for await (const last of log.readAll({ backwards: true, limit: 1 })) if (comparePositions(last.position, position) >= 0) return position;
  throw new Error(`the stream ${STREAM} on the broker holds messages of another log, or of a later state of this log: delete the stream`);
};

/**
 * Returns the log position after which the relay publishes events: the position of the last message of the stream. If
 * the stream is empty, it is the position of the last event that is older than MAX_MESSAGE_AGE_MS; undefined (the start
 * of the log) if there is no such event.
 * @throws Error if the stream contains messages of another log
 */
export const resumePosition = (log: Log, { token }: LastMessage, signal: AbortSignal): Promise<Position | undefined> => {
  const position = token === null ? null : parseToken(token);
  return position ? requireReached(log, position) : lastPositionOlderThan(log, MAX_MESSAGE_AGE_MS, signal);
};
