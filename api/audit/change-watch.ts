import { comparePositions, type Position, parseToken, tokenOf } from '../../domain/event.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import { changesAfter } from '../../projections/audit/tenant-change.queries.ts';
import type { Reads } from '../../projections/read-model.ts';
import { projections } from '../../projections/registry.ts';

/** How often the watch looks whether the audit log has new entries. */
const TICK_MS = 250;
/**
 * How often the watch asks the database even if no new position was announced. So it finds out that the database does
 * not answer, and announcements that were lost.
 */
const MAX_SILENCE_MS = 2_000;
const LOG_START: Position = { commit: 0n, prepare: 0n };

/** The categories of streams whose events lists of a tenant show. */
export const CHANGE_CATEGORIES: readonly string[] = [
  ...new Set(
    projections.flatMap(({ categories }: { readonly categories: readonly string[] | '*' }) => (categories === '*' ? [] : categories)),
  ),
].toSorted();

/** A category of streams in which a tenant has new events. `token` is the consistency token of the newest one. */
export type Change = { readonly category: string; readonly token: string };
/** Changes up to the position `newest`. */
type Found = { readonly changes: readonly (Change & { readonly position: Position })[]; readonly newest: Position };
export type OnChanges = (changes: readonly Change[]) => void;

type Watched = {
  /** Maps each listener to the position up to which it knows what changed. */
  readonly listeners: Map<OnChanges, Position>;
  /** The position up to which the database was asked. */
  seen: Position;
  checkedAt: number;
  isBusy: boolean;
  isFailing: boolean;
};

/** Every category, because it is not known in which ones there are new events. */
const allChanged = (position: Position): Change[] => CHANGE_CATEGORIES.map((category) => ({ category, token: tokenOf(position) }));

const later = (a: Position, b: Position): Position => (comparePositions(a, b) < 0 ? b : a);

/** Returns what changed after a position, and the position of the newest of these events. @throws Refusal unavailable */
const readChanges = async (reads: Reads, tenant_id: string, after: Position): Promise<Found> => {
  const { newest: positions, isComplete } = await changesAfter(reads, tenant_id, after);
  const newest = [...positions.values()].reduce(later, after);
  if (!isComplete) return { changes: allChanged(newest).map((change) => ({ ...change, position: newest })), newest };
  const changes = [...positions].map(([category, position]) => ({ category, token: tokenOf(position), position }));
  return { changes: changes.filter(({ category }) => CHANGE_CATEGORIES.includes(category)), newest };
};

/**
 * Creates the watch of the changes of tenants. While there are listeners, it follows the position of the audit log, and
 * asks the database what changed for each tenant with listeners. If the database does not answer, or answers again, the
 * listeners are told that every category has changed.
 */
export const createChangeWatch = (reads: Reads, now: () => number = Date.now) => {
  const tenants = new Map<string, Watched>();
  let timer: NodeJS.Timeout | undefined;

  const auditPosition = (): Position | null => parseToken(reads.position(audit.name) ?? '');

  const tellAll = ({ listeners, seen }: Watched): void => {
    for (const listener of listeners.keys()) listener(allChanged(seen));
  };

  /** Tells listeners about changes that they do not know. */
  const tell = ({ listeners }: Watched, { changes, newest }: Found, told: Iterable<OnChanges> = listeners.keys()): void => {
    for (const listener of [...told]) {
      const known = listeners.get(listener);
      if (!known) continue;
      const unknown = changes.filter(({ position }) => comparePositions(position, known) > 0);
      listeners.set(listener, later(known, newest));
      if (unknown.length > 0) listener(unknown);
    }
  };

  const check = async (tenant_id: string, watched: Watched): Promise<void> => {
    const position = auditPosition();
    const isBehind = position !== null && comparePositions(position, watched.seen) < 0;
    try {
      const found = await readChanges(reads, tenant_id, isBehind ? position : watched.seen);
      watched.seen = isBehind ? position : later(position ?? LOG_START, found.newest);
      // An audit log that has moved back was restored from a backup, or is being rebuilt.
      if (isBehind || watched.isFailing) tellAll(watched);
      else tell(watched, found);
      watched.isFailing = false;
    } catch {
      if (!watched.isFailing) tellAll(watched);
      watched.isFailing = true;
    }
  };

  const tick = (): void => {
    const position = auditPosition();
    for (const [tenant_id, watched] of tenants) {
      const isDue = (position && comparePositions(position, watched.seen) !== 0) || now() - watched.checkedAt >= MAX_SILENCE_MS;
      if (watched.isBusy || !isDue) continue;
      watched.isBusy = true;
      watched.checkedAt = now();
      void check(tenant_id, watched).finally(() => {
        watched.isBusy = false;
      });
    }
  };

  const watchedTenant = (tenant_id: string): Watched => {
    const known = tenants.get(tenant_id);
    if (known) return known;
    const seen = auditPosition() ?? LOG_START;
    const watched: Watched = { listeners: new Map(), seen, checkedAt: now(), isBusy: false, isFailing: false };
    tenants.set(tenant_id, watched);
    timer ??= setInterval(tick, TICK_MS).unref();
    return watched;
  };

  return {
    /**
     * Calls `onChanges` for each change of a tenant until the returned function is called. With `after`, also for the
     * changes after that consistency token; if it is no token, it is not known what has changed since.
     */
    watch: (tenant_id: string, after: string | undefined, onChanges: OnChanges): (() => void) => {
      const watched = watchedTenant(tenant_id);
      const from = after === undefined ? null : parseToken(after);
      watched.listeners.set(onChanges, from ?? watched.seen);
      const notKnown = (): void => onChanges(allChanged(watched.seen));
      if (from) void readChanges(reads, tenant_id, from).then((found) => tell(watched, found, [onChanges]), notKnown);
      else if (after !== undefined) notKnown();
      return () => {
        watched.listeners.delete(onChanges);
        if (watched.listeners.size === 0 && tenants.get(tenant_id) === watched) tenants.delete(tenant_id);
        if (tenants.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
};

export type ChangeWatch = ReturnType<typeof createChangeWatch>;
