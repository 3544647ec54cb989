import type pg from 'pg';
import { hasEnded } from './event-processor.ts';
import { endRequest, endRequests, noteRequest, openRequests, REBUILDS, type Request } from './maintenance-requests.ts';
import { nextOf, openNext } from './open-projection.ts';
import { retryParked } from './parked-events.ts';
import type { Member } from './projection-writer.ts';
import type { Tended, Work } from './projector.ts';
import { abandon, compareRebuilt, finishRebuild, type Rebuilt } from './rebuild.ts';

const isRebuild = ({ kind }: Request): boolean => kind.startsWith('rebuild');

const retry = async ({ log, lanes }: Work, name: string, stream: string | null): Promise<number | null> => {
  const lane = lanes.laneOf(name);
  return lane ? retryParked(log, lane, name, stream) : null;
};

/** What a process that now has a projection tries once: its parked events, for this program may know how. */
const retryOnce = async (work: Work, one: Tended): Promise<void> => {
  if (!one.fresh || !work.lanes.laneOf(one.projection.name)) return;
  await retry(work, one.projection.name, null);
  one.fresh = false;
};

/** Lays new rows beside old ones once they are written together, and leaves the rest to an operator. */
const hold = async (work: Work, one: Tended, request: Request): Promise<false> => {
  const compared = request.outcome === null ? await compareRebuilt(work, one) : null;
  if (compared) await noteRequest(work.pool, request.id, compared);
  return false;
};

/** Whether a rebuild came to its end in this turn. */
const finish = async (work: Work, one: Tended, requests: readonly Request[]): Promise<boolean> => {
  const { name } = one.projection;
  if (!work.lanes.laneOf(nextOf(name)) || requests.some(({ kind }) => kind === 'abort')) return false;
  const held = requests.find(({ kind }) => kind === 'rebuild-held');
  if (held && !requests.some(({ kind }) => kind === 'promote')) return hold(work, one, held);
  const keep = requests.some(({ kind }) => kind === 'rebuild-if-equal');
  const rebuilt: Rebuilt | null = await finishRebuild(work, one, keep);
  if (!rebuilt) return false;
  one.rebuilt = rebuilt;
  await endRequests(work.pool, name, REBUILDS, rebuilt);
  return true;
};

const answer = async (work: Work, db: pg.Client, one: Tended, request: Request): Promise<Member | undefined> => {
  const { name } = one.projection;
  if (request.kind === 'retry') {
    const freed = await retry(work, name, request.stream);
    if (freed !== null) await endRequest(db, request.id, { freed });
    return undefined;
  }
  if (request.kind === 'promote') {
    if (!work.lanes.laneOf(nextOf(name))) await endRequest(db, request.id, { promoted: false });
    return undefined;
  }
  if (request.kind === 'abort') {
    await abandon(work, db, name);
    await endRequests(db, name, REBUILDS, { at: new Date().toISOString(), promoted: false, comparison: null, events: null });
    await endRequest(db, request.id, {});
    return undefined;
  }
  const begun = work.lanes.laneOf(nextOf(name)) !== null;
  return begun || !work.lanes.laneOf(name) ? undefined : openNext(db, one.projection, work.room);
};

/** The rebuild that begins by what was asked, if one does. */
const one = async (work: Work, db: pg.Client, tended: Tended, requests: readonly Request[]): Promise<Member | undefined> => {
  await retryOnce(work, tended);
  if (await finish(work, tended, requests)) return undefined;
  let begun: Member | undefined;
  for (const request of requests) {
    if (begun && isRebuild(request)) continue;
    const next = await answer(work, db, tended, request);
    begun = request.kind === 'abort' ? undefined : (next ?? begun);
  }
  return begun;
};

/** What there is to do for the projections of this process besides reading: retries, rebuilds that can be ended, requests. */
export const tend = async (work: Work, db: pg.Client): Promise<void> => {
  const mine = work.tended.filter(({ state }) => state === 'reading');
  const requests = await openRequests(
    db,
    mine.map(({ projection }) => projection.name),
  );
  const begun: Member[] = [];
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
