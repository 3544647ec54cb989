import type { Readiness } from '../../api/operations/system-routes.ts';
import { projections } from '../../projections/registry.ts';
import type { Log } from '../eventstore/event-log.ts';
import { platformIdOf } from '../eventstore/platform-id.ts';
import type { PostgresReads } from '../readmodel/postgres-read-model.ts';
import type { SpoolStatus } from '../spool/spool-storage.ts';

/** The time in milliseconds for which the status of a part is reused. /readyz may be requested often. */
export const STATUS_TTL_MS = 500;

/** Returns a function that runs `ask` at most once every `ttlMs` milliseconds. Calls in between get the last result. */
export const memoizeFor = <T>(ttlMs: number, ask: () => Promise<T>): (() => Promise<T>) => {
  let askedAt = Number.NEGATIVE_INFINITY;
  let answer: Promise<T>;
  return () => {
    if (performance.now() - askedAt > ttlMs) {
      askedAt = performance.now();
      answer = ask();
    }
    return answer;
  };
};

/** The maximum time in milliseconds that a delivery may wait in the spool before /readyz reports it. */
const MAX_SPOOLED_MS = 5_000;

/** Returns the problems of the spool that /readyz reports. */
const degradedSpool = ({ canTake, parked, oldestAt }: SpoolStatus): string[] => [
  ...(canTake ? [] : ['spool']),
  ...(parked > 0 || (oldestAt !== null && Date.now() - oldestAt > MAX_SPOOLED_MS) ? ['spooled deliveries'] : []),
];

export type ReadinessOptions = {
  readonly log: Log;
  /** Called with the position and the time of the last event each time the log has answered. */
  readonly onLogEnd: PostgresReads['noteEvent'];
  /** Whether the last append of a delivery failed. */
  readonly isFailing: () => boolean;
  readonly spool: () => SpoolStatus;
  readonly degraded: () => Promise<string[]>;
};

/**
 * Creates the function that checks whether deliveries can be accepted. They can if the log answers and the last append
 * of a delivery did not fail. They also can if the spool can take deliveries.
 */
export const createReadiness = ({ log, onLogEnd, isFailing, spool, degraded }: ReadinessOptions): (() => Promise<Readiness>) => {
  const isReachable = memoizeFor(STATUS_TTL_MS, () =>
    log.ping().then(
      (last) => {
        if (last) onLogEnd(last.position, Date.parse(last.at));
        return true;
      },
      () => false,
    ),
  );
  let platform: string | null = null;
  return async () => {
    const [reachable, others] = await Promise.all([isReachable(), degraded()]);
    if (reachable) platform ??= await platformIdOf(log).catch(() => null);
    const isRecording = reachable && !isFailing();
    const status = spool();
    return {
      ready: isRecording || status.canTake,
      degraded: [...(isRecording ? [] : ['event store']), ...degradedSpool(status), ...others],
      platform,
    };
  };
};

/** Returns whether the database answers and every projection has a checkpoint. */
export const readModelsReady = (reads: PostgresReads): boolean =>
  reads.healthy() && projections.every(({ name }) => reads.position(name) !== null);
