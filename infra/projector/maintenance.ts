import type pg from 'pg';
import { isProcessorStopped } from './event-processor.ts';
import {
  completeRequest,
  completeRequests,
  type MaintenanceRequest,
  openRequests,
  REBUILD_KINDS,
  recordProgress,
} from './maintenance-requests.ts';
import { createShadow, shadowSchemaOf } from './open-projection.ts';
import { retryParkedEvents } from './parked-events.ts';
import type { ProjectionWriter } from './projection-writer.ts';
import { abortRebuild, compareRebuild, finishRebuild } from './rebuild.ts';
import type { Projector, RunningProjection } from './running-projection.ts';

const isRebuild = ({ kind }: MaintenanceRequest): boolean => kind.startsWith('rebuild');

/** Whether this process rebuilds a projection. */
export const isRebuilding = ({ processors }: Pick<Projector, 'processors'>, name: string): boolean =>
  processors.processorOf(shadowSchemaOf(name)) !== null;

const retry = async ({ log, processors }: Projector, name: string, stream: string | null): Promise<number | null> => {
  const processor = processors.processorOf(name);
  return processor ? retryParkedEvents(log, processor, name, stream) : null;
};

/**
 * Retries the parked events of a projection, once after this process has begun to write it. This process may run a
 * newer version of Annals, which can apply events that an older version could not.
 */
const retryOnce = async (projector: Projector, running: RunningProjection): Promise<void> => {
  const { name } = running.projection;
  if (!running.isParkedRetryDue || !projector.processors.processorOf(name)) return;
  await retry(projector, name, null);
  running.isParkedRetryDue = false;
};

/**
 * When the rebuild has caught up with the log, compares its rows with the live rows and records the result. The rebuild
 * then waits until an operator promotes or aborts it.
 */
const compareAndWait = async (projector: Projector, running: RunningProjection, request: MaintenanceRequest): Promise<void> => {
  if (request.outcome !== null) return;
  const compared = await compareRebuild(projector, running);
  if (compared) await recordProgress(projector.pool, request.id, compared);
};

/** Promotes or aborts a rebuild that has caught up, if that was requested. @returns whether the rebuild has ended */
const finish = async (projector: Projector, running: RunningProjection, requests: readonly MaintenanceRequest[]): Promise<boolean> => {
  const { name } = running.projection;
  const requested = new Set(requests.map(({ kind }) => kind));
  if (!isRebuilding(projector, name) || requested.has('abort')) return false;
  const waiting = requests.find(({ kind }) => kind === 'rebuild-held');
  if (waiting && !requested.has('promote')) {
    await compareAndWait(projector, running, waiting);
    return false;
  }
  const result = await finishRebuild(projector, running, requested.has('rebuild-if-equal'));
  if (!result) return false;
  running.lastRebuild = result;
  await completeRequests(projector.pool, name, REBUILD_KINDS, result);
  return true;
};

/** Handles one request. @returns the writer of the new rebuild if the request starts one */
const handleRequest = async (
  projector: Projector,
  db: pg.Client,
  { projection }: RunningProjection,
  request: MaintenanceRequest,
): Promise<ProjectionWriter | undefined> => {
  const { name } = projection;
  if (request.kind === 'retry') {
    const freed = await retry(projector, name, request.stream);
    if (freed !== null) await completeRequest(db, request.id, { freed });
    return undefined;
  }
  if (request.kind === 'promote') {
    if (!isRebuilding(projector, name)) await completeRequest(db, request.id, { promoted: false });
    return undefined;
  }
  if (request.kind === 'abort') {
    await abortRebuild(projector, db, name);
    await completeRequests(db, name, REBUILD_KINDS, { at: new Date().toISOString(), promoted: false });
    await completeRequest(db, request.id, {});
    return undefined;
  }
  if (isRebuilding(projector, name) || !projector.processors.processorOf(name)) return undefined;
  return createShadow(db, projection, projector);
};

/**
 * Handles retries, requests and the end of a rebuild for one projection. @returns the writer of a new rebuild, if one
 * starts
 */
const maintain = async (
  projector: Projector,
  db: pg.Client,
  running: RunningProjection,
  requests: readonly MaintenanceRequest[],
): Promise<ProjectionWriter | undefined> => {
  await retryOnce(projector, running);
  if (await finish(projector, running, requests)) return undefined;
  let shadow: ProjectionWriter | undefined;
  for (const request of requests) {
    if (shadow && isRebuild(request)) continue;
    const created = await handleRequest(projector, db, running, request);
    shadow = request.kind === 'abort' ? undefined : (created ?? shadow);
  }
  return shadow;
};

/** Handles maintenance of the projections that this process writes: retries of parked events, requests, and the end of rebuilds. */
export const handleRequests = async (projector: Projector, db: pg.Client): Promise<void> => {
  const own = projector.projections.filter(({ state }) => state === 'reading');
  const requests = await openRequests(
    db,
    own.map(({ projection }) => projection.name),
  );
  const shadows: ProjectionWriter[] = [];
  for (const running of own) {
    const { name } = running.projection;
    try {
      const requested = requests.filter(({ projection }) => projection === name);
      const shadow = await maintain(projector, db, running, requested);
      if (shadow) shadows.push(shadow);
      running.error = null;
    } catch (error) {
      if (isProcessorStopped(error)) continue;
      const { message } = error as Error;
      if (message !== running.error)
        projector.logger.warn({ name, reason: message }, 'maintenance of a projection failed; it will be retried');
      running.error = message;
    }
  }
  // Rebuilds that start together share one event processor, so the log is read only once.
  projector.processors.start(shadows);
};
