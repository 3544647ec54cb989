import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { ProjectionAdmin } from '../../api/operations/projection-admin.ts';
import { mustRequest, type RebuildDecision } from '../../commands/operations/projection-maintenance.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { projections } from '../../projections/registry.ts';
import type { Log } from '../eventstore/event-log.ts';
import { isUnavailable, openPool } from '../postgres/pool.ts';
import { driftReply, parkedReply, type Rebuild, rebuildReply, statusReply } from './admin-replies.ts';
import { checkDrift, type DriftReport } from './drift-check.ts';
import { openRequests, type RequestKind, requestMaintenance, requestState } from './maintenance-requests.ts';
import { type ParkedEvent, parkedEvent, parkedEvents } from './parked-events.ts';
import { waitingReactors } from './reactor-status.ts';
import { publishedStatuses, WORKER_SILENT_SECONDS } from './status.ts';

/** The number of rows that the drift check samples per table. */
const SAMPLED_ROWS = 20;
/** The time limit for a query. The drift check has no limit. */
const QUERY_TIMEOUT_MS = 5_000;
const REBUILD_REQUESTS = ['rebuild', 'rebuild-if-equal', 'rebuild-held'] as const satisfies RequestKind[];

const projectionOf = (name: string): AnyProjection | undefined => projections.find((projection) => projection.name === name);

const readRebuild = async (pool: pg.Pool, name: string, id: string): Promise<Rebuild | null> => {
  const projection = projectionOf(name);
  const request = projection && /^\d{1,15}$/.test(id) ? await requestState(pool, Number(id)) : null;
  if (!projection || !request || request.projection !== name) return null;
  const status = (await publishedStatuses(pool)).find((published) => published.name === name);
  return rebuildReply(request, projection, status);
};

const openRebuildId = async (pool: pg.Pool, name: string): Promise<number | null> => {
  const { rows } = await pool.query<{ id: number }>(
    'select id::double precision as id from annals.requests where projection = $1 and kind = any($2::text[]) and done_at is null order by requests.id limit 1',
    [name, REBUILD_REQUESTS],
  );
  return rows[0]?.id ?? null;
};

const startRebuild = async (pool: pg.Pool, name: string): Promise<Rebuild | null> => {
  if (!projectionOf(name)) return null;
  const id = (await openRebuildId(pool, name)) ?? (await requestMaintenance(pool, 'rebuild-held', name));
  return readRebuild(pool, name, String(id));
};

const requestedDecision = async (pool: pg.Pool, name: string): Promise<RebuildDecision | undefined> => {
  const requests = await openRequests(pool, [name]);
  return requests.map(({ kind }) => kind).find((kind) => kind === 'promote' || kind === 'abort');
};

/** How long a decision waits for the projector to carry it out, in milliseconds. */
const DECISION_TIMEOUT_MS = 2_000;
const POLL_INTERVAL_MS = 25;

/**
 * Returns the rebuild when it has ended. After two seconds, returns it in its present state, because the projector may
 * be busy or down.
 */
const endedRebuild = async (pool: pg.Pool, name: string, id: string): Promise<Rebuild | null> => {
  const deadline = performance.now() + DECISION_TIMEOUT_MS;
  for (;;) {
    const rebuild = await readRebuild(pool, name, id);
    if (!rebuild || rebuild.state === 'promoted' || rebuild.state === 'aborted' || performance.now() >= deadline) return rebuild;
    await sleep(POLL_INTERVAL_MS);
  }
};

const decideRebuild = async (pool: pg.Pool, decision: RebuildDecision, name: string, id: string): Promise<Rebuild | null> => {
  const rebuild = await readRebuild(pool, name, id);
  if (!rebuild) return null;
  if (mustRequest(decision, { state: rebuild.state, requested: await requestedDecision(pool, name) }))
    await requestMaintenance(pool, decision, name);
  return endedRebuild(pool, name, id);
};

const retryParkedEvent = async (pool: pg.Pool, name: string, event_id: string): Promise<ParkedEvent | null> => {
  const parked = projectionOf(name) ? await parkedEvent(pool, name, event_id) : null;
  if (parked) await requestMaintenance(pool, 'retry', name, parked.stream);
  return parked;
};

const sampleDrift = async (log: Log, pool: pg.Pool): Promise<DriftReport[]> => {
  const reports: DriftReport[] = [];
  for (const projection of projections) reports.push(await checkDrift(log, pool, projection, SAMPLED_ROWS));
  return reports;
};

const missingWorkers = async (pool: pg.Pool): Promise<string[]> => {
  const [statuses, waiting] = await Promise.all([publishedStatuses(pool), waitingReactors(pool)]);
  // Just after this process has started, the workers may still be starting, too. So a worker does not count as silent
  // for longer than this process has been running.
  const silentSeconds = Math.min(process.uptime(), ...statuses.map(({ silent_seconds }) => silent_seconds));
  return [
    ...(silentSeconds > WORKER_SILENT_SECONDS ? ['worker'] : []),
    ...waiting.map(({ name, remedy }) => (remedy ? `${name} (${remedy})` : name)),
  ];
};

/** Throws Refusal unavailable if the error means that the database is down. Throws any other error unchanged. */
const throwIfUnavailable = (error: unknown): never => {
  if (isUnavailable(error)) throw new Refusal('unavailable', 'The read models cannot be reached: try again', { retryAfter: 2 });
  throw error;
};

const withRefusals =
  <A extends unknown[], T>(work: (...args: A) => Promise<T>) =>
  (...args: A): Promise<T> =>
    work(...args).catch(throwIfUnavailable);

export type OpenedProjectionAdmin = ProjectionAdmin & {
  /** The names of the workers and reactors that are not working; empty if the database cannot be reached. */
  readonly missingWorkers: () => Promise<string[]>;
  readonly close: () => Promise<void>;
};

/**
 * Opens the administration of projections. It talks to the projector through the database, so the projector may run in
 * another process. Its functions throw Refusal unavailable if the database is down.
 */
export const openProjectionAdmin = (databaseUrl: string, log: Log, logger: Logger): OpenedProjectionAdmin => {
  const pool = openPool(databaseUrl, logger, 'operators', { max: 2, queryTimeoutMs: QUERY_TIMEOUT_MS });
  const driftPool = openPool(databaseUrl, logger, 'drift', { max: 2 });
  return {
    missingWorkers: () => missingWorkers(pool).catch(() => []),
    statuses: withRefusals(async () => (await publishedStatuses(pool)).map(statusReply)),
    rebuild: withRefusals((name: string) => startRebuild(pool, name)),
    rebuildOf: withRefusals((name: string, id: string) => readRebuild(pool, name, id)),
    promote: withRefusals((name: string, id: string) => decideRebuild(pool, 'promote', name, id)),
    abort: withRefusals((name: string, id: string) => decideRebuild(pool, 'abort', name, id)),
    parked: withRefusals(async (name: string) => (projectionOf(name) ? (await parkedEvents(pool, name)).map(parkedReply) : null)),
    retry: withRefusals(async (name: string, event_id: string) => {
      const parked = await retryParkedEvent(pool, name, event_id);
      return parked && parkedReply(parked);
    }),
    drift: withRefusals(async () => driftReply(await sampleDrift(log, driftPool))),
    close: async () => {
      await Promise.all([pool.end(), driftPool.end()]);
    },
  };
};
