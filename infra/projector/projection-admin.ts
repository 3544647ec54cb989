import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { DifferencesOf, ProjectionAdmin, RebuildChoice } from '../../api/operations/projection-admin.ts';
import { mustRequest, type Operator, type RebuildDecision } from '../../commands/operations/projection-maintenance.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { projections } from '../../projections/registry.ts';
import type { Log } from '../eventstore/event-log.ts';
import { isUnavailable, openPool } from '../postgres/pool.ts';
import { driftReply, parkedReply, type Rebuild, rebuildReply, sampledDifferences, statusReply } from './admin-replies.ts';
import { checkDrift, type DriftReport } from './drift-check.ts';
import { driftSamples, recordDriftSample } from './drift-samples.ts';
import { requestMaintenance } from './maintenance-requests.ts';
import { type ParkedEvent, parkedEvent, parkedEvents } from './parked-events.ts';
import { waitingReactors } from './reactor-status.ts';
import { type RebuildRequest, rebuildRequest, rebuildRequests, requestDecision, requestRebuild } from './rebuild-requests.ts';
import { type RowDifference, readRowDifferences } from './row-differences.ts';
import { publishedStatuses } from './status.ts';
import { isWorkerMissing } from './worker-presence.ts';

/** The number of rows that the drift check samples per table. */
const SAMPLED_ROWS = 20;
/** The time limit for a query in milliseconds. The queries of the drift check have no limit. */
const QUERY_TIMEOUT_MS = 5_000;

type Querier = pg.Pool | pg.ClientBase;

const projectionOf = (name: string): AnyProjection | undefined => projections.find((projection) => projection.name === name);

const rebuildId = (id: string): number | null => (/^\d{1,15}$/.test(id) ? Number(id) : null);

/** Returns the function that creates the reply to a rebuild request of this projection; null if there is no such projection. */
const replyFor = async (db: Querier, name: string): Promise<((request: RebuildRequest) => Rebuild) | null> => {
  const projection = projectionOf(name);
  if (!projection) return null;
  const status = (await publishedStatuses(db)).find((published) => published.name === name);
  return (request) => rebuildReply(request, projection, status);
};

const readRebuild = async (db: Querier, name: string, id: string): Promise<Rebuild | null> => {
  const number = rebuildId(id);
  const request = number === null ? null : await rebuildRequest(db, name, number);
  return request && ((await replyFor(db, name))?.(request) ?? null);
};

const listRebuilds = async (pool: pg.Pool, name: string): Promise<Rebuild[] | null> => {
  const reply = await replyFor(pool, name);
  return reply && (await rebuildRequests(pool, name)).map(reply);
};

const listDifferences = async (
  services: { readonly pool: pg.Pool; readonly log: Log },
  { name, id, column }: DifferencesOf,
): Promise<RowDifference[] | null> => {
  const { pool, log } = services;
  const projection = projectionOf(name);
  const number = rebuildId(id);
  const request = number === null ? null : await rebuildRequest(pool, name, number);
  if (!projection || !request) return null;
  if (request.done_at !== null) return [];
  return readRowDifferences(
    { db: pool, log },
    { projection: name, tables: projection.tables, sampled: sampledDifferences(request) },
    column,
  );
};

const startRebuild = async (pool: pg.Pool, name: string, by: Operator): Promise<Rebuild | null> => {
  if (!projectionOf(name)) return null;
  return readRebuild(pool, name, String(await requestRebuild(pool, name, by)));
};

/** The maximum time in milliseconds to wait until the projector has promoted or aborted a rebuild. */
const DECISION_TIMEOUT_MS = 2_000;
const POLL_INTERVAL_MS = 25;

/**
 * Waits until the rebuild has ended, and returns it. After two seconds it is returned as it is then, because the
 * projector may be busy or down.
 */
const endedRebuild = async (pool: pg.Pool, name: string, id: string): Promise<Rebuild | null> => {
  const deadline = performance.now() + DECISION_TIMEOUT_MS;
  for (;;) {
    const rebuild = await readRebuild(pool, name, id);
    if (!rebuild || rebuild.state === 'promoted' || rebuild.state === 'aborted' || performance.now() >= deadline) return rebuild;
    await sleep(POLL_INTERVAL_MS);
  }
};

const decideRebuild = async (
  pool: pg.Pool,
  decision: RebuildDecision,
  { name, id, by, reason }: RebuildChoice,
): Promise<Rebuild | null> => {
  if (!(await readRebuild(pool, name, id))) return null;
  const request = { decision, projection: name, rebuild: Number(id), by, reason };
  await requestDecision(pool, request, async (db, requested) => {
    const { state, decided_by } = (await readRebuild(db, name, id))!;
    return mustRequest(decision, by, { state, decided_by, requested });
  });
  return endedRebuild(pool, name, id);
};

const retryParkedEvent = async (pool: pg.Pool, name: string, event_id: string): Promise<ParkedEvent | null> => {
  const parked = projectionOf(name) ? await parkedEvent(pool, name, event_id) : null;
  if (parked) await requestMaintenance(pool, 'retry', name, parked.stream);
  return parked;
};

const sampleDrift = async (log: Log, pool: pg.Pool, name: string | null): Promise<DriftReport[] | null> => {
  const chosen = projections.filter((projection) => name === null || projection.name === name);
  if (chosen.length === 0) return null;
  const reports: DriftReport[] = [];
  for (const projection of chosen) {
    const report = await checkDrift(log, pool, projection, SAMPLED_ROWS);
    await recordDriftSample(pool, report);
    reports.push(report);
  }
  return reports;
};

const listStatuses = async (pool: pg.Pool) => {
  const [statuses, samples] = await Promise.all([publishedStatuses(pool), driftSamples(pool)]);
  const byName = new Map(samples.map(({ projection, ...sample }) => [projection, sample]));
  return statuses.map((status) => ({ ...statusReply(status), drift: byName.get(status.name) ?? null }));
};

const missingWorkers = async (pool: pg.Pool): Promise<string[]> => {
  const [statuses, waiting] = await Promise.all([publishedStatuses(pool), waitingReactors(pool)]);
  // If this process has just started, the workers may still be starting, too. So a worker does not count as silent for
  // longer than this process has been running.
  const silentSeconds = Math.min(process.uptime(), ...statuses.map(({ silent_seconds }) => silent_seconds));
  if (await isWorkerMissing(pool, silentSeconds)) return ['worker'];
  return waiting.map(({ name, remedy }) => (remedy ? `${name} (${remedy})` : name));
};

const UNDEFINED_TABLE_OR_COLUMN = ['42P01', '42703', '3F000'];

/**
 * Throws Refusal unavailable if the error means that the database is down, or that no worker of this version has
 * prepared the tables yet. Throws any other error unchanged.
 */
const throwIfUnavailable = (error: unknown): never => {
  if (UNDEFINED_TABLE_OR_COLUMN.includes((error as { code?: string }).code ?? ''))
    throw new Refusal('unavailable', 'No worker of this version has prepared the read models yet: start annals work', { retryAfter: 5 });
  if (isUnavailable(error)) throw new Refusal('unavailable', 'The read models cannot be reached: try again', { retryAfter: 2 });
  throw error;
};

const withRefusals =
  <A extends unknown[], T>(work: (...args: A) => Promise<T>) =>
  (...args: A): Promise<T> =>
    work(...args).catch(throwIfUnavailable);

export type OpenedProjectionAdmin = ProjectionAdmin & {
  /** Returns the names of the workers and reactors that are not working; empty if the database cannot be reached. */
  readonly missingWorkers: () => Promise<string[]>;
  /** The database of the projections, for the checks of the health report. */
  readonly db: Pick<pg.Pool, 'query'>;
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
    db: pool,
    missingWorkers: () => missingWorkers(pool).catch(() => []),
    statuses: withRefusals(() => listStatuses(pool)),
    rebuild: withRefusals((name: string, by: Operator) => startRebuild(pool, name, by)),
    rebuilds: withRefusals((name: string) => listRebuilds(pool, name)),
    rebuildOf: withRefusals((name: string, id: string) => readRebuild(pool, name, id)),
    differences: withRefusals((of: DifferencesOf) => listDifferences({ pool, log }, of)),
    promote: withRefusals((choice: RebuildChoice) => decideRebuild(pool, 'promote', choice)),
    abort: withRefusals((choice: RebuildChoice) => decideRebuild(pool, 'abort', choice)),
    parked: withRefusals(async (name: string) => (projectionOf(name) ? (await parkedEvents(pool, name)).map(parkedReply) : null)),
    retry: withRefusals(async (name: string, event_id: string) => {
      const parked = await retryParkedEvent(pool, name, event_id);
      return parked && parkedReply(parked);
    }),
    drift: withRefusals(async (name: string | null) => {
      const reports = await sampleDrift(log, driftPool, name);
      return reports && driftReply(reports);
    }),
    close: async () => {
      await Promise.all([pool.end(), driftPool.end()]);
    },
  };
};
