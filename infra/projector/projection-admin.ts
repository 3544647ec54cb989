import type { Logger } from 'pino';
import type { ProjectionAdmin } from '../../api/operations/projection-admin.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { projections } from '../../projections/registry.ts';
import type { Log } from '../eventstore/event-log.ts';
import { isDown, openPool } from '../postgres/pool.ts';
import type { Comparison } from './compare-tables.ts';
import { checkDrift, type DriftedRow } from './drift-check.ts';
import { openRequests, type RequestKind, type RequestState, requestMaintenance, requestState } from './maintenance-requests.ts';
import { type ParkedEvent, parkedEvent, parkedEvents } from './parked-events.ts';
import { waitingReactors } from './reactor-status.ts';
import { type PublishedStatus, publishedStatuses, WORKER_SILENT_SECONDS } from './status.ts';

type Rebuild = Awaited<ReturnType<ProjectionAdmin['rebuildOf']>> & object;
type Outcome = { promoted?: boolean; comparison?: Comparison | null; events?: number | null } | null;

const SAMPLED = 20;
/** So long the database has for what operators ask; the sampling of drift takes the time that it takes. */
const ANSWER_MS = 5_000;
const STANDING = ['rebuild', 'rebuild-if-equal', 'rebuild-held'] as const satisfies RequestKind[];

const stateOf = (request: RequestState): Rebuild['state'] => {
  const outcome = request.outcome as Outcome;
  if (request.done_at === null) return outcome ? 'ready' : 'running';
  return outcome?.promoted ? 'promoted' : 'aborted';
};

const statusOf = (status: PublishedStatus) => ({
  name: status.name,
  version: status.version,
  position: status.position,
  head: status.head,
  lag_events: status.lag_events,
  lag_seconds: status.lag_seconds,
  events_per_second: status.rate,
  state: status.silent_seconds > WORKER_SILENT_SECONDS ? 'no_writer' : status.state,
  last_error: status.last_error,
  parked: status.parked_streams,
  writer: status.silent_seconds > WORKER_SILENT_SECONDS ? null : status.writer,
});

const rebuildOf = (request: RequestState, projection: AnyProjection, status: PublishedStatus | undefined): Rebuild => {
  const progress = request.done_at === null ? status?.rebuild : null;
  const outcome = request.outcome as Outcome;
  return {
    id: String(request.id),
    projection: projection.name,
    version: projection.version,
    state: stateOf(request),
    events: progress?.events ?? outcome?.events ?? null,
    total: progress ? progress.events + progress.lag_events : (outcome?.events ?? null),
    events_per_second: progress ? progress.rate : null,
    eta_seconds: progress ? progress.seconds_left : null,
    comparison: (outcome?.comparison ?? null) as Rebuild['comparison'],
  };
};

const parkedOf = (parked: ParkedEvent) => ({
  id: parked.event_id,
  projection: parked.projection,
  event_id: parked.event_id,
  position: parked.position,
  key: `${parked.stream}@${parked.revision}`,
  error: parked.reason,
  attempts: parked.attempts,
  parked_at: new Date(parked.parked_at).toISOString(),
});

const driftOf = ({ table, key, columns, stored, folded, event }: DriftedRow) => ({
  key: { table, ...key },
  columns: [...columns],
  stored,
  folded,
  first_diverging_event: event ? `${event.stream}@${event.revision}` : null,
});

const down = (error: unknown): never => {
  if (isDown(error)) throw new Refusal('unavailable', 'the read models can not be reached', { retryAfter: 2 });
  throw error;
};

type Standing = {
  /** What no worker does, as they said themselves or by their silence; nothing where the database can't be asked. */
  readonly missingWorkers: () => Promise<string[]>;
};

/** The engine of the projections as operators reach it: through the database, whoever writes there. */
export const openProjectionAdmin = (
  databaseUrl: string,
  log: Log,
  logger: Logger,
): ProjectionAdmin & Standing & { close: () => Promise<void> } => {
  const pool = openPool(databaseUrl, logger, 'operators', { max: 2, answerMs: ANSWER_MS });
  const samples = openPool(databaseUrl, logger, 'drift', { max: 2 });
  const projectionOf = (name: string): AnyProjection | undefined => projections.find((projection) => projection.name === name);

  const found = async (name: string, id: string): Promise<Rebuild | null> => {
    const projection = projectionOf(name);
    const request = projection && /^\d{1,15}$/.test(id) ? await requestState(pool, Number(id)) : null;
    if (!projection || !request || request.projection !== name) return null;
    const status = (await publishedStatuses(pool)).find((one) => one.name === name);
    return rebuildOf(request, projection, status);
  };

  const standing = async (name: string): Promise<number | null> => {
    const { rows } = await pool.query<{ id: number }>(
      'select id::double precision as id from annals.requests where projection = $1 and kind = any($2::text[]) and done_at is null order by requests.id limit 1',
      [name, STANDING],
    );
    return rows[0]?.id ?? null;
  };

  const decide = async (kind: 'promote' | 'abort', name: string, id: string): Promise<Rebuild | null> => {
    const rebuild = await found(name, id);
    if (!rebuild) return null;
    if (rebuild.state === 'promoted' || rebuild.state === 'aborted')
      throw new Refusal('conflict', `the rebuild was ${rebuild.state} already`);
    if (kind === 'promote' && rebuild.state !== 'ready')
      throw new Refusal('conflict', 'the rebuild has not caught up yet', { retryAfter: 1 });
    const decided = (await openRequests(pool, [name])).find((request) => request.kind === 'promote' || request.kind === 'abort');
    if (decided && decided.kind !== kind) throw new Refusal('conflict', `to ${decided.kind} the rebuild was asked for already`);
    if (!decided) await requestMaintenance(pool, kind, name);
    return found(name, id);
  };

  const mended =
    <A extends unknown[], T>(work: (...sent: A) => Promise<T>) =>
    (...sent: A): Promise<T> =>
      work(...sent).catch(down);

  const missingWorkers = async (): Promise<string[]> => {
    const [statuses, waiting] = await Promise.all([publishedStatuses(pool), waitingReactors(pool)]);
    // A process that has just been started has nothing to go by: its workers may be starting too.
    const since = Math.min(process.uptime(), ...statuses.map(({ silent_seconds }) => silent_seconds));
    return [...(since > WORKER_SILENT_SECONDS ? ['worker'] : []), ...waiting.map(({ name }) => name)];
  };

  return {
    missingWorkers: () => missingWorkers().catch(() => []),
    statuses: mended(async () => (await publishedStatuses(pool)).map(statusOf)),
    rebuild: mended(async (name: string) => {
      if (!projectionOf(name)) return null;
      const id = (await standing(name)) ?? (await requestMaintenance(pool, 'rebuild-held', name));
      return found(name, String(id));
    }),
    rebuildOf: mended(found),
    promote: mended((name: string, id: string) => decide('promote', name, id)),
    abort: mended((name: string, id: string) => decide('abort', name, id)),
    parked: mended(async (name: string) => (projectionOf(name) ? (await parkedEvents(pool, name)).map(parkedOf) : null)),
    retry: mended(async (name: string, event_id: string) => {
      const parked = projectionOf(name) ? await parkedEvent(pool, name, event_id) : null;
      if (!parked) return null;
      await requestMaintenance(pool, 'retry', name, parked.stream);
      return parkedOf(parked);
    }),
    drift: mended(async () => {
      const reports = [];
      for (const projection of projections) reports.push(await checkDrift(log, samples, projection, SAMPLED));
      return {
        at: new Date().toISOString(),
        projections: reports.map(({ projection, checked, drifted }) => ({
          name: projection,
          sampled: checked,
          differing: drifted.map(driftOf),
        })),
      };
    }),
    close: async () => {
      await Promise.all([pool.end(), samples.end()]);
    },
  };
};
