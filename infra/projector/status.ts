import type { ClientBase, Pool } from 'pg';
import { comparePositions, type Recorded, tokenOf } from '../../domain/event.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { EventProcessor } from './event-processor.ts';
import { shadowSchemaOf } from './open-projection.ts';
import type { RebuildResult } from './rebuild-result.ts';
import type { Projector, RunningProjection } from './running-projection.ts';

/**
 * The status of a projection, as operators see it. It is stored in the database, where other processes read it, so
 * field names must not change. `lag_events` is an estimate while the projection catches up. `rate` is in events per
 * second. Times are RFC 3339.
 */
export type ProjectionStatus = {
  readonly name: string;
  readonly version: number;
  readonly state: 'standby' | 'opening' | 'catching_up' | 'live' | 'lost';
  readonly position: string | null;
  readonly head: string | null;
  readonly lag_events: number;
  readonly lag_seconds: number;
  readonly rate: number;
  /** The number of events that the writer has processed since it was opened. */
  readonly events: number;
  readonly parked_streams: number;
  readonly last_error: string | null;
  /** Whether the process that reports this status writes the projection. */
  readonly writer: boolean;
  readonly rebuild: RebuildProgress | null;
  readonly rebuilt: RebuildResult | null;
};

/**
 * The progress of a rebuild. `done` is the fraction that is done, from 0 to 1. `events` is the number of events that
 * the rebuild has processed since this process opened it. `seconds_left` is null while it cannot be estimated.
 */
export type RebuildProgress = {
  readonly done: number;
  readonly events: number;
  readonly lag_events: number;
  readonly rate: number;
  readonly seconds_left: number | null;
};

/** Caches the last event of the log. `refresh` reads it again. */
export type LogEnd = { readonly refresh: () => Promise<void>; readonly last: () => Recorded | null };

export const trackLogEnd = (log: Log): LogEnd => {
  let last: Recorded | null = null;
  return {
    refresh: async () => {
      for await (const event of log.readAll({ backwards: true, limit: 1 })) last = event;
    },
    last: () => last,
  };
};

/**
 * Estimates how many events a processor is behind, for display only. Positions are offsets in the log and not event
 * counts, so the number is not exact.
 */
const estimateLag = (processor: EventProcessor, end: Recorded | null): number => {
  const commit = processor.position()?.commit ?? 0n;
  if (!end || end.position.commit <= commit || processor.isCaughtUp()) return processor.queueSize();
  const distance = Number(end.position.commit - commit);
  return Math.max(1, processor.queueSize(), Math.round(distance / Math.max(1, processor.averageGap())));
};

const progressOf = (processor: EventProcessor, name: string, end: Recorded | null): RebuildProgress => {
  const lag = estimateLag(processor, end);
  const commit = processor.position()?.commit ?? 0n;
  const done = end && !processor.isCaughtUp() ? Math.min(1, Number(commit) / Number(end.position.commit)) : 1;
  const rate = processor.eventsPerSecond();
  const writer = processor.writers().find((each) => each.name === name);
  return { done, events: writer?.eventCount() ?? 0, lag_events: lag, rate, seconds_left: rate > 0 ? lag / rate : lag === 0 ? 0 : null };
};

/** Returns a result without the list of differing rows. A status is stored every second, and these rows are not shown in it. */
const withoutRows = (result: RebuildResult): RebuildResult => ({
  ...result,
  comparison: result.comparison && { ...result.comparison, shown: [] },
});

/**
 * Returns the status of a projection in this process. `end` is the last event of the log; null if the log is empty or
 * has not been read.
 */
export const statusOf = (
  { processors }: Pick<Projector, 'processors'>,
  { projection, state, error, lastRebuild }: RunningProjection,
  end: Recorded | null,
): ProjectionStatus => {
  const { name, version } = projection;
  const shadow = shadowSchemaOf(name);
  const processor = processors.processorOf(name);
  const rebuilding = processors.processorOf(shadow);
  const writer = processor?.writers().find((each) => each.name === name);
  const position = writer?.position() ?? null;
  const isBehind = end && position && comparePositions(end.position, position) > 0 && processor && !processor.isCaughtUp();
  const lastEventAt = writer?.lastEventAt();
  // The end of the log was read a moment ago. The projection may already be beyond it.
  const head = end && position && comparePositions(position, end.position) > 0 ? position : (end?.position ?? null);
  return {
    name,
    version,
    state: state !== 'reading' ? state : processor && processor === processors.live() ? 'live' : 'catching_up',
    position: position && tokenOf(position),
    head: head && tokenOf(head),
    lag_events: processor ? estimateLag(processor, end) : 0,
    lag_seconds: isBehind && lastEventAt ? Math.max(0, (Date.now() - Date.parse(lastEventAt)) / 1_000) : 0,
    rate: processor?.eventsPerSecond() ?? 0,
    events: writer?.eventCount() ?? 0,
    parked_streams: writer?.blockedStreams.size ?? 0,
    last_error: error,
    writer: state === 'reading',
    rebuild: rebuilding && progressOf(rebuilding, shadow, end),
    rebuilt: lastRebuild && withoutRows(lastRebuild),
  };
};

/** Stores the statuses of the projections that this process writes, so that other processes can read them. */
export const publishStatuses = async (db: ClientBase | Pool, writer: string, statuses: readonly ProjectionStatus[]): Promise<void> => {
  const own = statuses.filter((status) => status.writer);
  if (own.length === 0) return;
  await db.query(
    `insert into annals.statuses (name, status, seen_at) select value->>'name', value, now() from jsonb_array_elements($1::jsonb)
     on conflict (name) do update set status = excluded.status, seen_at = excluded.seen_at`,
    [JSON.stringify(own.map((status) => ({ ...status, writer })))],
  );
};

/** A worker counts as down if it has published no status for this many seconds. */
export const WORKER_SILENT_SECONDS = 10;

/** A published status. `writer` is the name of the process that writes the projection, `silent_seconds` the age of the status. */
export type PublishedStatus = Omit<ProjectionStatus, 'writer'> & { readonly writer: string; readonly silent_seconds: number };

export const publishedStatuses = async (db: Pick<ClientBase, 'query'>): Promise<PublishedStatus[]> => {
  const { rows } = await db.query<{ status: Omit<PublishedStatus, 'silent_seconds'>; silent: number }>(
    'select status, extract(epoch from now() - seen_at)::double precision as silent from annals.statuses order by name',
  );
  return rows.map(({ status, silent }) => ({ ...status, silent_seconds: silent }));
};
