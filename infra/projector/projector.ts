import { hostname } from 'node:os';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { AnyProjection } from '../../projections/projection.ts';
import { withDeadline } from '../eventstore/deadline.ts';
import type { Log } from '../eventstore/event-log.ts';
import { type Locks, openLocks } from '../postgres/advisory-locks.ts';
import { CONNECTION_TIMEOUT_MS, openPool } from '../postgres/pool.ts';
import { type EventProcessors, openLanes } from './event-processors.ts';
import { handleRequests } from './maintenance.ts';
import { REQUEST_CHANNEL } from './maintenance-requests.ts';
import { openProjection, shadowSchemaOf } from './open-projection.ts';
import type { ProjectionWriter } from './projection-writer.ts';
import { publishReactors, type ReactorStatus } from './reactor-status.ts';
import type { RebuildResult } from './rebuild.ts';
import { openRowBudget, type RowBudget } from './row-cache.ts';
import { createAnnals } from './schema.ts';
import { openHead, type ProjectionStatus, publishStatuses, statusOf } from './status.ts';

/**
 * Rows come from the log: a lost last instant is projected again. A statement is planned once a connection: left to itself PostgreSQL begins, once
 * the tables have grown, to plan each anew with every batch (it takes arrays of one to be cheaper than what it expects), at twice the cost.
 * Who takes over waits for no transaction of a process that stands still.
 */
const WRITING = '-c synchronous_commit=off -c plan_cache_mode=force_generic_plan -c idle_in_transaction_session_timeout=10000';
const TICK_MS = 500;
const MIN_RETRY_DELAY_MS = 25;
const PUBLISH_MS = 1_000;
const MAX_RETRY_DELAY_MS = 5_000;
const ANSWER_MS = 2_000;
/** So long the log gives no answer before another process, which may reach it, is let to the work of this one. */
const LOG_UNREACHABLE_MS = 3_000;
const STABLE_AFTER_MS = 30_000;

/** One projection in this process. `standby`: another process writes it. `lost`: its lane has ended and it is to be opened again. */
export type RunningProjection = {
  readonly projection: AnyProjection;
  state: 'standby' | 'opening' | 'reading' | 'lost';
  error: string | null;
  /** Its parked events have not been tried by this process. */
  fresh: boolean;
  rebuilt: RebuildResult | null;
  /** How often in a row its lane has ended, and when it may be opened again (of the monotonic clock). */
  failures: number;
  retryAt: number;
};

export type Projector = {
  readonly log: Log;
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly lanes: EventProcessors;
  readonly room: RowBudget;
  readonly tended: readonly RunningProjection[];
};

export type ProjectionOptions = {
  readonly log: Log;
  readonly databaseUrl: string;
  readonly projections: readonly AnyProjection[];
  readonly logger: Logger;
  /** What else runs in this process, to be told of beside the projections. */
  readonly reactors?: () => readonly ReactorStatus[];
};

export type Projections = { readonly close: () => Promise<void>; readonly status: () => ProjectionStatus[] };

const namesOf = ({ projection }: RunningProjection): ReadonlySet<string> => new Set([projection.name, shadowSchemaOf(projection.name)]);

const open = async (db: pg.Client, locks: Locks, room: RowBudget, one: RunningProjection): Promise<ProjectionWriter[]> => {
  const opened = await openProjection(db, one.projection, room);
  if ('newer' in opened) {
    one.state = 'standby';
    one.error = `version ${opened.newer} is in the database, this program knows ${one.projection.version}`;
    await locks.release([one.projection.name]);
    return [];
  }
  one.state = 'reading';
  one.error = null;
  one.fresh = true;
  return [opened.main, opened.next].filter((member): member is ProjectionWriter => member !== null);
};

/** It is opened again, at once where all had gone well for long, else later and later. */
const scheduleReopen = (one: RunningProjection, { message }: Error): void => {
  one.state = 'lost';
  one.error = message;
  one.failures = performance.now() - one.retryAt > STABLE_AFTER_MS ? 0 : one.failures + 1;
  one.retryAt = performance.now() + Math.min(MAX_RETRY_DELAY_MS, one.failures * MIN_RETRY_DELAY_MS * 2 ** one.failures);
};

/** What keeps one projection from being opened is no reason to leave those beside it shut. */
const openOrSetBack = (db: pg.Client, locks: Locks, { room, logger }: Projector, one: RunningProjection): Promise<ProjectionWriter[]> => {
  const told = one.error;
  return open(db, locks, room, one).catch((error: Error) => {
    if (error.message !== told) logger.warn({ name: one.projection.name, reason: error.message }, 'a projection can not be opened');
    scheduleReopen(one, error);
    return [];
  });
};

const takeOver = async (db: pg.Client, locks: Locks, work: Projector): Promise<void> => {
  const { lanes, tended, logger } = work;
  const standby = tended.filter(({ state }) => state === 'standby');
  const won = new Set(await locks.acquire(standby.map(({ projection }) => projection.name)));
  for (const one of standby) if (won.has(one.projection.name)) one.state = 'opening';
  const members: ProjectionWriter[] = [];
  for (const one of tended) {
    if (one.state === 'lost' && performance.now() >= one.retryAt) {
      await lanes.take(namesOf(one));
      one.state = 'opening';
    }
    if (one.state === 'opening') members.push(...(await openOrSetBack(db, locks, work, one)));
  }
  if (members.length > 0) logger.info({ names: members.map(({ name }) => name) }, 'following projections');
  lanes.start(members);
};

/** Work beside the loop, which must not wait for it: one at a time, its failure is the next turn's to mend. */
const singleFlight = () => {
  let running: Promise<void> | null = null;
  const start = (work: () => Promise<void>): void => {
    running ??= work()
      .catch(() => {})
      .finally(() => {
        running = null;
      });
  };
  return Object.assign(start, { over: async () => running });
};

/** A loop that runs `turn` every half second, or later and later while it fails; `poke` ends a pause early. */
const everyTick = (turn: () => Promise<void>, failed: (error: Error) => void) => {
  let closed = false;
  let poked = false;
  let poke = () => {};
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      poke = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const run = async () => {
    for (let failures = 0; !closed; ) {
      poked = false;
      try {
        await turn();
        failures = 0;
      } catch (error) {
        failures++;
        failed(error as Error);
      }
      const wait = Math.min(MAX_RETRY_DELAY_MS, failures === 0 ? TICK_MS : MIN_RETRY_DELAY_MS * 2 ** failures);
      if (!closed && (!poked || failures > 0)) await pause(wait * (0.75 + Math.random() / 2));
    }
  };
  const running = run();
  return {
    poke: () => {
      poked = true;
      poke();
    },
    close: async () => {
      closed = true;
      poke();
      await running;
    },
  };
};

/**
 * Keeps projections in Postgres until closed. Any number of processes may do so: one writes each projection, the others take over within
 * seconds. It never throws: while the database or the log is away it waits and tries again.
 */
export const startProjections = async ({
  log,
  databaseUrl,
  projections,
  logger,
  reactors = () => [],
}: ProjectionOptions): Promise<Projections> => {
  const pool = openPool(databaseUrl, logger, 'projections', { max: 6, options: WRITING, pipeline: true, answerMs: CONNECTION_TIMEOUT_MS });
  const tended: RunningProjection[] = projections.map((projection) => ({
    projection,
    state: 'standby',
    error: null,
    fresh: true,
    rebuilt: null,
    failures: 0,
    retryAt: 0,
  }));
  let prepared: pg.Client | null = null;
  let lockless = false;

  const lose = (error: Error, names: readonly string[]) => {
    for (const one of tended) if (names.some((name) => namesOf(one).has(name)) && one.state === 'reading') scheduleReopen(one, error);
    ticking.poke();
  };
  const lanes = openLanes({ log, pool, logger, broken: lose });
  const locks = openLocks(databaseUrl, () => {
    lockless = true;
    ticking.poke();
  });
  const work: Projector = { log, pool, logger, lanes, room: openRowBudget(), tended };

  const head = openHead(log);
  const writer = `${hostname()} ${process.pid}`;
  const [looking, tending, publishing] = [singleFlight(), singleFlight(), singleFlight()];
  let looked = 0;
  let published = 0;
  /** Since when every look at the log has failed. */
  let failing: number | null = null;

  const look = async (): Promise<void> => {
    if (performance.now() - looked < PUBLISH_MS) return;
    looked = performance.now();
    const answers = await withDeadline(ANSWER_MS, head.look()).then(
      () => true,
      () => false,
    );
    failing = answers ? null : (failing ?? performance.now());
  };
  const isCutOff = (): boolean => failing !== null && performance.now() - failing > LOG_UNREACHABLE_MS;
  const releaseAll = async (): Promise<void> => {
    void locks.close();
    await lanes.stop();
    for (const one of tended) Object.assign(one, { state: 'standby', error: 'the log does not answer this process' });
  };
  const statuses = (): ProjectionStatus[] => tended.map((one) => statusOf(work, one, head.last()));
  const publish = async (db: pg.Client): Promise<void> => {
    if (performance.now() - published < PUBLISH_MS) return;
    published = performance.now();
    await publishStatuses(db, writer, statuses());
    await publishReactors(db, writer, reactors());
  };
  /** A process that was only slow goes on where nobody took its place meanwhile: what it writes is guarded by where the checkpoints stood. */
  const reacquireLocks = async (): Promise<void> => {
    const names = tended.filter(({ state }) => state !== 'standby').map(({ projection }) => projection.name);
    const held = await locks.acquire(names).catch(() => []);
    lockless = false;
    if (held.length === names.length) return;
    await lanes.stop();
    await locks.release(held);
    for (const one of tended) one.state = 'standby';
  };
  const turn = async (): Promise<void> => {
    looking(look);
    if (isCutOff()) return releaseAll();
    if (lockless) await reacquireLocks();
    const db = await locks.connect();
    if (db !== prepared) {
      await createAnnals(db);
      await db.query(`listen ${REQUEST_CHANNEL}`);
      db.on('notification', () => ticking.poke());
    }
    prepared = db;
    await takeOver(db, locks, work);
    tending(() => handleRequests(work, db));
    publishing(() => publish(db));
  };
  const ticking: ReturnType<typeof everyTick> = everyTick(turn, (error) => {
    for (const one of tended) if (one.state !== 'reading') one.error = error.message;
    logger.warn({ reason: error.message }, 'projections wait for the database');
  });

  return {
    status: statuses,
    close: async () => {
      await ticking.close();
      await lanes.stop();
      await Promise.all([looking.over(), tending.over(), publishing.over()]);
      await lanes.stop();
      await locks.close();
      await pool.end();
    },
  };
};
