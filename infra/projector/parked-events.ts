import type { ClientBase } from 'pg';
import { comparePositions, type Recorded } from '../../domain/event.ts';
import type { Log } from '../eventstore/event-log.ts';
import { commitBatch } from './commit-batch.ts';
import type { EventProcessor } from './event-processor.ts';

/**
 * An event that a projection has not applied. `first` is true if applying the event failed, and false if the event was
 * left out because an earlier event of its stream is parked. This module lists and retries parked events;
 * commit-batch.ts parks them.
 */
export type ParkedEvent = {
  readonly projection: string;
  readonly stream: string;
  readonly revision: number;
  readonly event_id: string;
  readonly position: string;
  readonly type: string;
  readonly first: boolean;
  readonly reason: string;
  readonly event_at: string;
  readonly parked_at: string;
  /** The number of attempts to apply the event, including the first one. */
  readonly attempts: number;
};

const SELECT_PARKED = `select projection, stream, revision::double precision as revision, event_id,
  commit_position || ':' || prepare_position as position, type, first, reason, event_at, parked_at, attempts from annals.parked`;

type Db = Pick<ClientBase, 'query'>;

/**
 * Returns at most 200 parked events, ordered by projection, stream and revision. If `projection` is null, returns those
 * of all projections.
 */
export const parkedEvents = async (db: Db, projection: string | null): Promise<ParkedEvent[]> => {
  const { rows } = await db.query<ParkedEvent>(
    `${SELECT_PARKED} where $1::text is null or projection = $1 order by projection, stream, parked.revision limit 200`,
    [projection],
  );
  return rows;
};

export const parkedEvent = async (db: Db, projection: string, event_id: string): Promise<ParkedEvent | null> => {
  const { rows } = await db.query<ParkedEvent>(`${SELECT_PARKED} where projection = $1 and event_id = $2`, [projection, event_id]);
  return rows[0] ?? null;
};

/**
 * Returns the streams that have parked events, each with the revision of its first parked event. If `stream` is set,
 * returns only that stream.
 */
const parkedStreams = async (db: ClientBase, projection: string, stream: string | null): Promise<{ stream: string; from: number }[]> => {
  const { rows } = await db.query<{ stream: string; from: number }>(
    `select stream, min(revision)::double precision as "from" from annals.parked where projection = $1 and ($2::text is null or stream = $2)
     group by stream order by stream`,
    [projection, stream],
  );
  return rows;
};

/** Reads the events of these streams in log order, each stream from its `from` revision, up to the position `to`. */
const eventsOf = async (log: Log, streams: readonly { stream: string; from: number }[], to: Recorded['position']): Promise<Recorded[]> => {
  const events: Recorded[] = [];
  for (const { stream, from } of streams)
    for await (const event of log.read(stream, { from })) if (comparePositions(event.position, to) <= 0) events.push(event);
  return events.sort((a, b) => comparePositions(a.position, b.position));
};

const STREAMS_PER_BATCH = 100;

/**
 * Retries, between two batches, the parked events of one stream, or of all streams if `stream` is null. Events that
 * still cannot be applied stay parked, with the new reason.
 * @returns the number of streams that no longer have parked events
 */
export const retryParkedEvents = (log: Log, processor: EventProcessor, name: string, stream: string | null): Promise<number> =>
  processor.betweenBatches(async (writers, db) => {
    const writer = writers.find((each) => each.name === name);
    const position = writer?.position();
    if (!writer || !position) return { writers, result: 0 };
    const streams = await parkedStreams(db, name, stream);
    for (let at = 0; at < streams.length; at += STREAMS_PER_BATCH) {
      const batch = streams.slice(at, at + STREAMS_PER_BATCH);
      const events = await eventsOf(log, batch, position);
      const writeSet = await writer.prepareRetry(
        db,
        events,
        batch.map((parked) => parked.stream),
      );
      if (!writeSet) continue;
      await commitBatch(db, [writeSet]);
      writer.markWritten(writeSet);
    }
    return { writers, result: streams.filter((parked) => !writer.blockedStreams.has(parked.stream)).length };
  });
