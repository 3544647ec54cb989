import type { ClientBase, Pool } from 'pg';
import { comparePositions, type Recorded, tokenOf } from '../../domain/event.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { EventProcessor } from './event-processor.ts';
import { shadowSchemaOf } from './open-projection.ts';
import type { Projector, RunningProjection } from './projector.ts';
import type { RebuildResult } from './rebuild.ts';

/** A projection as operators see it. Lag in events is an estimate while it catches up, `rate` is events a second, times are RFC 3339. */
export type ProjectionStatus = {
  readonly name: string;
  readonly version: number;
  readonly state: 'standby' | 'opening' | 'catching_up' | 'live' | 'lost';
  readonly position: string | null;
  readonly head: string | null;
  readonly lag_events: number;
  readonly lag_seconds: number;
  readonly rate: number;
  readonly parked_streams: number;
  readonly last_error: string | null;
  /** This process is the one that writes it. */
  readonly writer: boolean;
  readonly rebuild: Progress | null;
  readonly rebuilt: RebuildResult | null;
};

/** How far a rebuild is: `done` of 1; `events` since the process that does it began; seconds left, null while nobody knows. */
export type Progress = {
  readonly done: number;
  readonly events: number;
  readonly lag_events: number;
  readonly rate: number;
  readonly seconds_left: number | null;
};

/** The last event of the log, as far as this process knows. */
export type Head = { readonly look: () => Promise<void>; readonly last: () => Recorded | null };

export const openHead = (log: Log): Head => {
  let last: Recorded | null = null;
  return {
    look: async () => {
      for await (const event of log.readAll({ backwards: true, limit: 1 })) last = event;
    },
    last: () => last,
  };
};

/** For display alone: positions are offsets in the log, and a stretch of it stands for its events. */
const estimate = (lane: EventProcessor, head: Recorded | null): number => {
  const at = lane.position()?.commit ?? 0n;
  if (!head || head.position.commit <= at || lane.caughtUp()) return lane.waiting();
  const stretch = lane.stretch();
  return Math.max(1, lane.waiting(), Math.round(Number(head.position.commit - at) / Math.max(1, stretch)));
};

const progressOf = (lane: EventProcessor, name: string, head: Recorded | null): Progress => {
  const lag = estimate(lane, head);
  const at = lane.position()?.commit ?? 0n;
  const done = head && !lane.caughtUp() ? Math.min(1, Number(at) / Number(head.position.commit)) : 1;
  const rate = lane.rate();
  const events =
    lane
      .members()
      .find((one) => one.name === name)
      ?.events() ?? 0;
  return { done, events, lag_events: lag, rate, seconds_left: rate > 0 ? lag / rate : lag === 0 ? 0 : null };
};

/** Where the projection of this process stands. */
export const statusOf = (
  { lanes }: Projector,
  { projection, state, error, rebuilt }: RunningProjection,
  head: Recorded | null,
): ProjectionStatus => {
  const { name, version } = projection;
  const lane = lanes.laneOf(name);
  const next = lanes.laneOf(shadowSchemaOf(name));
  const member = lane?.members().find((one) => one.name === name);
  const position = member?.position() ?? null;
  const behind = head && position && comparePositions(head.position, position) > 0 && lane && !lane.caughtUp();
  const at = member?.at();
  return {
    name,
    version,
    state: state !== 'reading' ? state : lane && lane === lanes.live() ? 'live' : 'catching_up',
    position: position && tokenOf(position),
    head: head && tokenOf(head.position),
    lag_events: lane ? estimate(lane, head) : 0,
    lag_seconds: behind && at ? Math.max(0, (Date.now() - Date.parse(at)) / 1_000) : 0,
    rate: lane?.rate() ?? 0,
    parked_streams: member?.blocked.size ?? 0,
    last_error: error,
    writer: state === 'reading',
    rebuild: next && progressOf(next, shadowSchemaOf(name), head),
    rebuilt,
  };
};

/** Leaves the statuses of the projections that this process writes in the database, for whoever is asked about them. */
export const publishStatuses = async (db: ClientBase | Pool, writer: string, statuses: readonly ProjectionStatus[]): Promise<void> => {
  const mine = statuses.filter((one) => one.writer);
  if (mine.length === 0) return;
  await db.query(
    `insert into annals.statuses (name, status, seen_at) select value->>'name', value, now() from jsonb_array_elements($1::jsonb)
     on conflict (name) do update set status = excluded.status, seen_at = excluded.seen_at`,
    [JSON.stringify(mine.map((status) => ({ ...status, writer })))],
  );
};

/** A writer that leaves no status for so long does not write. */
export const WORKER_SILENT_SECONDS = 10;

/** A status as its writer left it: who that is, and for how many seconds nothing has been heard of it. */
export type PublishedStatus = Omit<ProjectionStatus, 'writer'> & { readonly writer: string; readonly silent_seconds: number };

/** The statuses of all projections, as their writers left them. */
export const publishedStatuses = async (db: ClientBase | Pool): Promise<PublishedStatus[]> => {
  const { rows } = await db.query<{ status: Omit<PublishedStatus, 'silent_seconds'>; silent: number }>(
    'select status, extract(epoch from now() - seen_at)::double precision as silent from annals.statuses order by name',
  );
  return rows.map(({ status, silent }) => ({ ...status, silent_seconds: silent }));
};
