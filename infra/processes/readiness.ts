import { setTimeout as sleep } from 'node:timers/promises';
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

/** A part that stops working is checked again after this time (milliseconds) before it is reported. */
const CONFIRM_DELAY_MS = STATUS_TTL_MS + 100;
/** An event store that answers late is slow, and not down, if it has answered within this time (milliseconds). */
const SLOW_TIMEOUT_MS = 10_000;

/** The maximum time in milliseconds that a delivery may wait in the spool before /readyz reports it. */
const MAX_SPOOLED_MS = 5_000;

/** Returns the problems of the spool that /readyz reports. */
const degradedSpool = ({ canTake, parked, oldestAt }: SpoolStatus): string[] => [
  ...(canTake ? [] : ['spool']),
  ...(parked > 0 || (oldestAt !== null && Date.now() - oldestAt > MAX_SPOOLED_MS) ? ['spooled deliveries'] : []),
];

const EVENT_STORE = 'event store';

const isLate = ({ message }: Error): boolean => /did not answer within/.test(message);

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
  let answeredAt = Number.NEGATIVE_INFINITY;
  const isReachable = memoizeFor(STATUS_TTL_MS, () =>
    log.ping().then(
      (last) => {
        answeredAt = performance.now();
        if (last) onLogEnd(last.position, Date.parse(last.at));
        return true;
      },
      (error: Error) => isLate(error) && performance.now() - answeredAt < SLOW_TIMEOUT_MS,
    ),
  );
  let platform: string | null = null;
  const readDegraded = async (): Promise<string[]> => {
    const [reachable, others] = await Promise.all([isReachable(), degraded()]);
    if (reachable) platform ??= await platformIdOf(log).catch(() => null);
    const isRecording = reachable && !isFailing();
    return [...(isRecording ? [] : [EVENT_STORE]), ...degradedSpool(spool()), ...others];
  };
  const confirmed = confirm(readDegraded);
  return async () => {
    const parts = await confirmed();
    return { ready: !parts.includes(EVENT_STORE) || spool().canTake, degraded: parts, platform };
  };
};

/**
 * Returns a function that reads which parts do not work. A part that worked at the last reading is read a second time
 * before it is reported, so that one failure, as on a busy machine, changes nothing. Calls at the same time share a
 * reading.
 */
export const confirm = (read: () => Promise<string[]>, delayMs = CONFIRM_DELAY_MS): (() => Promise<string[]>) => {
  let reported: readonly string[] = [];
  let reading: Promise<string[]> | undefined;
  const readTwice = async (): Promise<string[]> => {
    const first = await read();
    const isNew = (part: string): boolean => !reported.includes(part);
    if (!first.some(isNew)) return first;
    await sleep(delayMs);
    return (await read()).filter((part) => first.includes(part) || !isNew(part));
  };
  return () => {
    reading ??= readTwice()
      .then((parts) => {
        reported = parts;
        return parts;
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
};

/** Returns whether the database answers and every projection has a checkpoint. */
export const readModelsReady = (reads: PostgresReads): boolean =>
  reads.healthy() && projections.every(({ name }) => reads.position(name) !== null);
