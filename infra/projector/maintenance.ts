import type pg from 'pg';
import { hasEnded } from './event-processor.ts';
import { endRequest, endRequests, openRequests, REBUILDS, type Request, recordRequest } from './maintenance-requests.ts';
import { openNext, shadowSchemaOf } from './open-projection.ts';
import { retryParked } from './parked-events.ts';
import type { ProjectionWriter } from './projection-writer.ts';
import type { Projector, RunningProjection } from './projector.ts';
import { abortRebuild, compareRebuilt, finishRebuild, type RebuildResult } from './rebuild.ts';

const isRebuild = ({ kind }: Request): boolean => kind.startsWith('rebuild');

const retry = async ({ log, lanes }: Projector, name: string, stream: string | null): Promise<number | null> => {
  const lane = lanes.laneOf(name);
  return lane ? retryParked(log, lane, name, stream) : null;
};

/** What a process that now has a projection tries once: its parked events, for this program may know how. */
const retryOnce = async (work: Projector, one: RunningProjection): Promise<void> => {
  if (!one.fresh || !work.lanes.laneOf(one.projection.name)) return;
  await retry(work, one.projection.name, null);
  one.fresh = false;
};

/** Lays new rows beside old ones once they are written together, and leaves the rest to an operator. */
const compareAndWait = async (work: Projector, one: RunningProjection, request: Request): Promise<false> => {
  const compared = request.outcome === null ? await compareRebuilt(work, one) : null;
  if (compared) await recordRequest(work.pool, request.id, compared);
  return false;
};

/** Whether a rebuild came to its end in this turn. */
const finish = async (work: Projector, one: RunningProjection, requests: readonly Request[]): Promise<boolean> => {
  const { name } = one.projection;
  if (!work.lanes.laneOf(shadowSchemaOf(name)) || requests.some(({ kind }) => kind === 'abort')) return false;
  const held = requests.find(({ kind }) => kind === 'rebuild-held');
  if (held && !requests.some(({ kind }) => kind === 'promote')) return compareAndWait(work, one, held);
  const keep = requests.some(({ kind }) => kind === 'rebuild-if-equal');
  const rebuilt: RebuildResult | null = await finishRebuild(work, one, keep);
  if (!rebuilt) return false;
  one.rebuilt = rebuilt;
  await endRequests(work.pool, name, REBUILDS, rebuilt);
  return true;
};

const answer = async (work: Projector, db: pg.Client, one: RunningProjection, request: Request): Promise<ProjectionWriter | undefined> => {
  const { name } = one.projection;
  if (request.kind === 'retry') {
    const freed = await retry(work, name, request.stream);
    if (freed !== null) await endRequest(db, request.id, { freed });
    return undefined;
  }
  if (request.kind === 'promote') {
    if (!work.lanes.laneOf(shadowSchemaOf(name))) await endRequest(db, request.id, { promoted: false });
    return undefined;
  }
  if (request.kind === 'abort') {
    await abortRebuild(work, db, name);
    await endRequests(db, name, REBUILDS, { at: new Date().toISOString(), promoted: false, comparison: null, events: null });
    await endRequest(db, request.id, {});
    return undefined;
  }
  const begun = work.lanes.laneOf(shadowSchemaOf(name)) !== null;
  return begun || !work.lanes.laneOf(name) ? undefined : openNext(db, one.projection, work.room);
};

/** The rebuild that begins by what was asked, if one does. */
const one = async (
  work: Projector,
  db: pg.Client,
  tended: RunningProjection,
  requests: readonly Request[],
): Promise<ProjectionWriter | undefined> => {
  await retryOnce(work, tended);
  if (await finish(work, tended, requests)) return undefined;
  let begun: ProjectionWriter | undefined;
  for (const request of requests) {
    if (begun && isRebuild(request)) continue;
    const next = await answer(work, db, tended, request);
    begun = request.kind === 'abort' ? undefined : (next ?? begun);
  }
  return begun;
};

/** What there is to do for the projections of this process besides reading: retries, rebuilds that can be ended, requests. */
export const handleRequests = async (work: Projector, db: pg.Client): Promise<void> => {
  const mine = work.tended.filter(({ state }) => state === 'reading');
  const requests = await openRequests(
    db,
    mine.map(({ projection }) => projection.name),
  );
  const begun: ProjectionWriter[] = [];
  for (const tended of mine) {
    try {
      const next = await one(
        work,
        db,
        tended,
        requests.filter(({ projection }) => projection === tended.projection.name),
      );
      if (next) begun.push(next);
      tended.error = null;
    } catch (error) {
      if (hasEnded(error)) continue;
      const { message } = error as Error;
      if (message !== tended.error)
        work.logger.warn({ name: tended.projection.name, reason: message }, 'what was asked of a projection failed; it is tried again');
      tended.error = message;
    }
  }
  // Together: what is rebuilt at once reads the log once.
  work.lanes.start(begun);
};
