import type { ClientBase } from 'pg';
import { comparePositions, type Recorded } from '../../domain/event.ts';
import type { Log } from '../eventstore/event-log.ts';
import { commit } from './commit-batch.ts';
import type { EventProcessor } from './event-processor.ts';

/** An event that could not be applied, or that stands behind one of its stream (`first` is false). */
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
  /** How often it was tried, the first time included. */
  readonly attempts: number;
};

const PARKED = `select projection, stream, revision::double precision as revision, event_id,
  commit_position || ':' || prepare_position as position, type, first, reason, event_at, parked_at, attempts from annals.parked`;

type Db = Pick<ClientBase, 'query'>;

/** Parked events of one projection (null: of all), streams together, oldest revision first; 200 at most. */
export const parkedEvents = async (db: Db, projection: string | null): Promise<ParkedEvent[]> => {
  const { rows } = await db.query<ParkedEvent>(
    `${PARKED} where $1::text is null or projection = $1 order by projection, stream, parked.revision limit 200`,
    [projection],
  );
  return rows;
};

/** One of a projection's parked events; null where it is not parked. */
export const parkedEvent = async (db: Db, projection: string, event_id: string): Promise<ParkedEvent | null> => {
  const { rows } = await db.query<ParkedEvent>(`${PARKED} where projection = $1 and event_id = $2`, [projection, event_id]);
  return rows[0] ?? null;
};

/** Streams with parked events, and the revision of the first of them. */
const parkedStreams = async (db: ClientBase, projection: string, stream: string | null): Promise<{ stream: string; from: number }[]> => {
  const { rows } = await db.query<{ stream: string; from: number }>(
    `select stream, min(revision)::double precision as "from" from annals.parked where projection = $1 and ($2::text is null or stream = $2)
     group by stream order by stream`,
    [projection, stream],
  );
  return rows;
};

const behind = async (log: Log, streams: readonly { stream: string; from: number }[], to: Recorded['position']): Promise<Recorded[]> => {
  const events: Recorded[] = [];
  for (const { stream, from } of streams)
    for await (const event of log.read(stream, { from })) if (comparePositions(event.position, to) <= 0) events.push(event);
  return events.sort((a, b) => comparePositions(a.position, b.position));
};

const PART = 100;

/**
 * Applies parked events again (of one stream, or of all), between two batches; what still cannot be applied stays parked, with its new
 * reason. Gives the number of streams that are free again.
 */
export const retryParked = (log: Log, lane: EventProcessor, name: string, stream: string | null): Promise<number> =>
  lane.between(async (members, db) => {
    const member = members.find((one) => one.name === name);
    const position = member?.position();
    if (!member || !position) return { members, result: 0 };
    const streams = await parkedStreams(db, name, stream);
    for (let at = 0; at < streams.length; at += PART) {
      const part = streams.slice(at, at + PART);
      const events = await behind(log, part, position);
      const entry = await member.retry(
        db,
        events,
        part.map((one) => one.stream),
      );
      if (!entry) continue;
      await commit(db, [entry]);
      member.done(entry);
    }
    return { members, result: streams.filter((one) => !member.blocked.has(one.stream)).length };
  });
