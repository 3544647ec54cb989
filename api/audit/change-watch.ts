import { category as budgetCategory } from '../../domain/billing/budget-hour.ts';
import { comparePositions, type Position, parseToken, tokenOf } from '../../domain/event.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import { changesAfter } from '../../projections/audit/tenant-change.queries.ts';
import type { Reads } from '../../projections/read-model.ts';
import { projections } from '../../projections/registry.ts';

/** The watch checks whether the audit log has new entries once in this many milliseconds. */
const TICK_MS = 250;
/**
 * The watch queries the database after this many milliseconds even if no new position was announced. So it notices lost
 * announcements, and a database that does not respond.
 */
const MAX_SILENCE_MS = 2_000;
const LOG_START: Position = { commit: 0n, prepare: 0n };

const projectedCategories = projections.flatMap(({ categories }: { readonly categories: readonly string[] | '*' }) =>
  categories === '*' ? [] : categories,
);

/**
 * The categories of streams whose events can change a list of a tenant: those of the projections, and that of budgets,
 * whose use is read from the event log.
 */
export const CHANGE_CATEGORIES: readonly string[] = [...new Set([...projectedCategories, budgetCategory])].toSorted();

/** A category in which a tenant has new events. `token` is the consistency token of the newest of these events. */
export type Change = { readonly category: string; readonly token: string };
/** The changes up to the log position `newest`. */
type Found = { readonly changes: readonly (Change & { readonly position: Position })[]; readonly newest: Position };
export type OnChanges = (changes: readonly Change[]) => void;

type Watched = {
  /** For each listener, the log position up to which it has been told about changes. */
  readonly listeners: Map<OnChanges, Position>;
  /** The log position up to which the database was queried. */
  seen: Position;
  checkedAt: number;
  isBusy: boolean;
  isFailing: boolean;
};

/** Returns a change for every category, for the case that the categories with new events are not known. */
const allChanged = (position: Position): Change[] => CHANGE_CATEGORIES.map((category) => ({ category, token: tokenOf(position) }));

const later = (a: Position, b: Position): Position => (comparePositions(a, b) < 0 ? b : a);

/** Returns the changes after a position, and the position of the newest of their events. @throws Refusal unavailable */
const readChanges = async (reads: Reads, tenant_id: string, after: Position): Promise<Found> => {
  const { newest: positions, isComplete } = await changesAfter(reads, tenant_id, after);
  const newest = [...positions.values()].reduce(later, after);
  if (!isComplete) return { changes: allChanged(newest).map((change) => ({ ...change, position: newest })), newest };
  const changes = [...positions].map(([category, position]) => ({ category, token: tokenOf(position), position }));
  return { changes: changes.filter(({ category }) => CHANGE_CATEGORIES.includes(category)), newest };
};

/**
 * Creates the watch for changes in tenants. While it has listeners, it follows the position of the audit log, and
 * queries what has changed in the tenants of the listeners. When the database stops responding, and when it responds
 * again, the watch tells the listeners that every category has changed.
 */
export const createChangeWatch = (reads: Reads, now: () => number = Date.now) => {
  const tenants = new Map<string, Watched>();
  let timer: NodeJS.Timeout | undefined;

  const auditPosition = (): Position | null => parseToken(reads.position(audit.name) ?? '');

  const tellAll = ({ listeners, seen }: Watched): void => {
    for (const listener of listeners.keys()) listener(allChanged(seen));
  };

  /** Tells each listener those changes that it does not know yet. */
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
      // If the position of the audit log has decreased, the log was restored from a backup, or the audit log is being
      // rebuilt.
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
     * Calls `onChanges` for each change of a tenant until the returned function is called. If `after` is a consistency
     * token, the changes after its position are reported first. If `after` is another text, every category is reported
     * as changed.
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
