import { hostname } from 'node:os';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { AnyProjection } from '../../projections/projection.ts';
import { withDeadline } from '../eventstore/deadline.ts';
import type { Log } from '../eventstore/event-log.ts';
import { type AdvisoryLocks, openAdvisoryLocks } from '../postgres/advisory-locks.ts';
import { CONNECTION_TIMEOUT_MS, openPool } from '../postgres/pool.ts';
import { openErasedTenants } from './erased-tenants.ts';
import { openEventProcessors } from './event-processors.ts';
import { handleRequests, isRebuilding } from './maintenance.ts';
import { REQUEST_CHANNEL } from './maintenance-requests.ts';
import { publishReactors, type ReactorStatus, withdrawReactors } from './reactor-status.ts';
import { openRowBudget } from './row-cache.ts';
import { type Projector, type RunningProjection, standbyProjection, writerNamesOf } from './running-projection.ts';
import { createSystemTables, hasTrigrams } from './schema.ts';
import { type LogEnd, type ProjectionStatus, publishStatuses, statusOf, trackLogEnd } from './status.ts';
import { scheduleReopen, takeOver } from './take-over.ts';
import { createSingleFlight, startTickLoop } from './tick-loop.ts';

/**
 * - `synchronous_commit=off`: a crash may lose transactions. Their rows come from the log, and are written again.
 * - `plan_cache_mode=force_generic_plan`: PostgreSQL plans each prepared statement once. Otherwise, when tables have
 * grown, it would plan every statement again for each batch, which doubles the cost of a batch.
 * - `idle_in_transaction_session_timeout`: the server ends a transaction that a suspended process has left open.
 * Otherwise a process that takes over would have to wait for that transaction.
 */
const WRITER_OPTIONS = '-c synchronous_commit=off -c plan_cache_mode=force_generic_plan -c idle_in_transaction_session_timeout=10000';
/** The minimum time, in milliseconds, between two checks whether the log answers, and between two publications of the statuses. */
const REPORT_INTERVAL_MS = 1_000;
const LOG_PROBE_TIMEOUT_MS = 2_000;
/**
 * If the log does not answer for this many milliseconds, this process releases its locks, because another process may
 * still be able to reach the log.
 */
const LOG_UNREACHABLE_MS = 3_000;

export type ProjectionOptions = {
  readonly log: Log;
  readonly databaseUrl: string;
  readonly projections: readonly AnyProjection[];
  readonly logger: Logger;
  /**
   * Returns the reactors that run in this process. The projector publishes their status together with the status of the
   * projections.
   */
  readonly reactors?: () => readonly ReactorStatus[];
};

export type Projections = { readonly close: () => Promise<void>; readonly status: () => ProjectionStatus[] };

type State = Projector & {
  readonly locks: AdvisoryLocks;
  readonly logEnd: LogEnd;
  readonly reactors: () => readonly ReactorStatus[];
  /** The name that identifies this process in the published statuses. */
  readonly processName: string;
  /** Which of the reactors worked when their statuses were last published. */
  publishedWorking: string;
  /** The connection that has created the system tables and listens for requests; null as long as there is none. */
  preparedConnection: pg.Client | null;
  hasLostLocks: boolean;
  probedAt: number;
  publishedAt: number;
  /** The time since which every check of the log has failed (performance.now()); null if the last check succeeded. */
  logFailingSince: number | null;
};

const statusesOf = (state: State): ProjectionStatus[] => state.projections.map((running) => statusOf(state, running, state.logEnd.last()));

const onProcessorFailure = (projections: readonly RunningProjection[], error: Error, names: readonly string[]): void => {
  for (const running of projections)
    if (running.state === 'reading' && names.some((name) => writerNamesOf(running).has(name))) scheduleReopen(running, error);
};

const probeLog = async (state: State): Promise<void> => {
  if (performance.now() - state.probedAt < REPORT_INTERVAL_MS) return;
  state.probedAt = performance.now();
  const answers = await withDeadline(LOG_PROBE_TIMEOUT_MS, state.logEnd.refresh()).then(
    () => true,
    () => false,
  );
  state.logFailingSince = answers ? null : (state.logFailingSince ?? performance.now());
};

const isLogUnreachable = ({ logFailingSince }: State): boolean =>
  logFailingSince !== null && performance.now() - logFailingSince > LOG_UNREACHABLE_MS;

const releaseAll = async ({ locks, processors, projections }: State): Promise<void> => {
  void locks.close();
  await processors.stop();
  for (const running of projections) Object.assign(running, { state: 'standby', error: 'the log does not answer this process' });
};

/**
 * Publishes the statuses. During a rebuild, this happens on every tick, so that operators see the progress, and also when a reactor has
 * started or stopped working.
 */
const publish = async (state: State, db: pg.Client): Promise<void> => {
  const anyRebuild = state.projections.some(({ projection }) => isRebuilding(state, projection.name));
  const reactors = state.reactors();
  const working = reactors.map(({ works }) => works).join();
  if (performance.now() - state.publishedAt < REPORT_INTERVAL_MS && !anyRebuild && working === state.publishedWorking) return;
  state.publishedAt = performance.now();
  state.publishedWorking = working;
  await publishStatuses(db, state.processName, statusesOf(state));
  await publishReactors(db, state.processName, reactors);
};

/**
 * Called after this process has lost its locks. If it can acquire all of them again, it continues to write. This is
 * safe: if another process has moved the projection's checkpoint in the meantime, the next write of this process fails.
 * If another process holds one of the locks, this process stops writing all projections.
 */
const reacquireLocks = async (state: State): Promise<void> => {
  const { locks, processors, projections } = state;
  const names = projections.filter(({ state }) => state !== 'standby').map(({ projection }) => projection.name);
  const acquired = await locks.acquire(names).catch(() => []);
  state.hasLostLocks = false;
  if (acquired.length === names.length) return;
  await processors.stop();
  await locks.release(acquired);
  for (const running of projections) running.state = 'standby';
};

const prepareConnection = async (state: State, onRequest: () => void): Promise<pg.Client> => {
  const db = await state.locks.connect();
  if (db !== state.preparedConnection) {
    await createSystemTables(db);
    if (!(await hasTrigrams(db))) state.logger.warn('the database lacks pg_trgm or btree_gin: searches read every row of their tenant');
    await db.query(`listen ${REQUEST_CHANNEL}`);
    db.on('notification', onRequest);
  }
  state.preparedConnection = db;
  return db;
};

/** Creates a projector's state and its database connections. `wake` starts the next turn of the projector's loop at once. */
const openState = (options: ProjectionOptions, wake: () => void): State => {
  const { log, databaseUrl, logger, reactors = () => [] } = options;
  const pool = openPool(databaseUrl, logger, 'projections', {
    max: 6,
    options: WRITER_OPTIONS,
    pipeline: true,
    queryTimeoutMs: CONNECTION_TIMEOUT_MS,
  });
  const projections = options.projections.map(standbyProjection);
  const onFailure = (error: Error, names: readonly string[]) => {
    onProcessorFailure(projections, error, names);
    wake();
  };
  const erased = openErasedTenants(log, logger, wake);
  const state: State = {
    log,
    pool,
    logger,
    projections,
    rowBudget: openRowBudget(),
    erased,
    processors: openEventProcessors({ log, pool, logger, erased, onFailure }),
    locks: openAdvisoryLocks(databaseUrl, () => {
      state.hasLostLocks = true;
      wake();
    }),
    logEnd: trackLogEnd(log),
    reactors,
    processName: `${hostname()} ${process.pid}`,
    preparedConnection: null,
    hasLostLocks: false,
    probedAt: 0,
    publishedAt: 0,
    publishedWorking: '',
    logFailingSince: null,
  };
  return state;
};

/**
 * Writes projections to Postgres until it is closed. Any number of processes can run this, but each projection has only
 * one writer; if its process fails, another one takes over within seconds. While the database or the log is
 * unavailable, it waits and tries again, and throws nothing.
 */
export const startProjections = async (options: ProjectionOptions): Promise<Projections> => {
  const state = openState(options, () => ticks.wake());
  const { pool, logger, locks, processors, projections, erased } = state;
  const [probing, maintaining, publishing] = [createSingleFlight(), createSingleFlight(), createSingleFlight()];

  const turn = async (): Promise<void> => {
    probing.start(() => probeLog(state));
    if (isLogUnreachable(state)) return releaseAll(state);
    if (state.hasLostLocks) await reacquireLocks(state);
    const db = await prepareConnection(state, () => ticks.wake());
    if (!(await erased.update(db))) return;
    await takeOver(db, locks, state);
    maintaining.start(() => handleRequests(state, db));
    publishing.start(() => publish(state, db));
  };
  const ticks: ReturnType<typeof startTickLoop> = startTickLoop(turn, (error) => {
    for (const running of projections) if (running.state !== 'reading') running.error = error.message;
    logger.warn({ reason: error.message }, 'projections wait for the database');
  });

  return {
    status: () => statusesOf(state),
    close: async () => {
      await ticks.close();
      await erased.close();
      await processors.stop();
      await Promise.all([probing.settled(), maintaining.settled(), publishing.settled()]);
      await processors.stop();
      await locks.close();
      await withdrawReactors(pool, state.processName).catch(() => {});
      await pool.end();
    },
  };
};
