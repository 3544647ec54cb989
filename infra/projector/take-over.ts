import type pg from 'pg';
import type { AdvisoryLocks } from '../postgres/advisory-locks.ts';
import { openProjection } from './open-projection.ts';
import type { ProjectionWriter } from './projection-writer.ts';
import { type Projector, type RunningProjection, writerNamesOf } from './running-projection.ts';

const MIN_REOPEN_DELAY_MS = 25;
const MAX_REOPEN_DELAY_MS = 5_000;
/** A projection that fails after it has run for this long (milliseconds) is opened again without a delay. */
const STABLE_AFTER_MS = 30_000;

/**
 * Marks a projection as lost, and schedules when it is opened again. The delay increases with each failure. If the
 * projection had been running for STABLE_AFTER_MS, there is no delay.
 */
export const scheduleReopen = (running: RunningProjection, { message }: Error): void => {
  running.state = 'lost';
  running.error = message;
  running.failures = performance.now() - running.retryAt > STABLE_AFTER_MS ? 0 : running.failures + 1;
  running.retryAt = performance.now() + Math.min(MAX_REOPEN_DELAY_MS, running.failures * MIN_REOPEN_DELAY_MS * 2 ** running.failures);
};

const open = async (db: pg.Client, locks: AdvisoryLocks, projector: Projector, running: RunningProjection): Promise<ProjectionWriter[]> => {
  const { projection } = running;
  const opened = await openProjection(db, projection, projector);
  if ('newer' in opened) {
    running.state = 'standby';
    running.error = `the database has version ${opened.newer} of this projection, but this program only knows version ${projection.version}`;
    await locks.release([projection.name]);
    return [];
  }
  running.state = 'reading';
  running.error = null;
  running.isParkedRetryDue = true;
  return [opened.live, opened.shadow].filter((writer): writer is ProjectionWriter => writer !== null);
};

/**
 * Opens a projection. If this fails, logs the error and schedules another attempt, so that the other projections are
 * still opened.
 */
const openOrSchedule = (
  db: pg.Client,
  locks: AdvisoryLocks,
  projector: Projector,
  running: RunningProjection,
): Promise<ProjectionWriter[]> => {
  const reported = running.error;
  return open(db, locks, projector, running).catch((error: Error) => {
    if (error.message !== reported)
      projector.logger.warn({ name: running.projection.name, reason: error.message }, 'a projection cannot be opened');
    scheduleReopen(running, error);
    return [];
  });
};

/**
 * Opens projections and starts to write them. These are the projections whose lock this process has just acquired, and
 * lost projections whose delay has passed.
 */
export const takeOver = async (db: pg.Client, locks: AdvisoryLocks, projector: Projector): Promise<void> => {
  const { processors, projections, logger } = projector;
  const standby = projections.filter(({ state }) => state === 'standby');
  const acquired = new Set(await locks.acquire(standby.map(({ projection }) => projection.name)));
  for (const running of standby) if (acquired.has(running.projection.name)) running.state = 'opening';
  const writers: ProjectionWriter[] = [];
  for (const running of projections) {
    if (running.state === 'lost' && performance.now() >= running.retryAt) {
      await processors.remove(writerNamesOf(running));
      running.state = 'opening';
    }
    if (running.state === 'opening') writers.push(...(await openOrSchedule(db, locks, projector, running)));
  }
  if (writers.length > 0) logger.info({ names: writers.map(({ name }) => name) }, 'following projections');
  processors.start(writers);
};
