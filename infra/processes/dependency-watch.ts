import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Log } from '../eventstore/event-log.ts';
import { createOutageLog } from '../logging/outage-log.ts';
import { pingDatabase } from '../postgres/pool.ts';
import type { SpoolStatus } from '../spool/spool-storage.ts';

const INTERVAL_MS = 2_000;
/** A check that takes longer counts as failed, in milliseconds. */
const TIMEOUT_MS = 5_000;
/** One failure can be a moment of overload. An outage begins with the second one in a row. */
const MIN_FAILURES = 2;

/** Returns why the service cannot be used; null if it works. May reject with the reason instead. */
export type DependencyCheck = () => Promise<string | null> | string | null;
export type Dependencies = Readonly<Record<string, DependencyCheck>>;

export type WatchOptions = {
  readonly dependencies: Dependencies;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  /** Fields for each line, such as the number of deliveries in the spool. */
  readonly details?: (() => Readonly<Record<string, number>>) | undefined;
  readonly intervalMs?: number;
};

const reasonOf = async (check: DependencyCheck): Promise<string | null> => {
  const late = sleep(TIMEOUT_MS, `no answer within ${TIMEOUT_MS / 1_000} s`, { ref: false });
  try {
    return await Promise.race([check(), late]);
  } catch (error) {
    return (error as Error).message;
  }
};

/** Checks the services of this process every two seconds, and logs their outages. */
export const startDependencyWatch = ({ dependencies, logger, details, intervalMs = INTERVAL_MS }: WatchOptions) => {
  const closing = new AbortController();
  const watch = async (name: string, check: DependencyCheck): Promise<void> => {
    const outages = createOutageLog(logger, name, details);
    for (let failures = 0; !closing.signal.aborted; ) {
      const reason = await reasonOf(check);
      failures = reason === null ? 0 : failures + 1;
      if (reason === null) outages.up();
      if (reason !== null && failures >= MIN_FAILURES) outages.down(reason);
      await sleep(intervalMs, undefined, { signal: closing.signal, ref: false }).catch(() => {});
    }
  };
  for (const [name, check] of Object.entries(dependencies)) void watch(name, check);
  return { close: (): void => closing.abort() };
};

type ServeConnections = {
  readonly log: Pick<Log, 'ping'>;
  readonly broker: { readonly isHealthy: () => boolean };
  readonly projectionAdmin: { readonly db: Parameters<typeof pingDatabase>[0] };
  readonly blobFailure: () => Promise<string | null>;
  readonly spool: { readonly status: () => SpoolStatus };
};

export const watchDependencies = ({ log, broker, projectionAdmin, blobFailure, spool }: ServeConnections, logger: WatchOptions['logger']) =>
  startDependencyWatch({
    dependencies: {
      'the event store': () => log.ping().then(() => null),
      Postgres: () => pingDatabase(projectionAdmin.db),
      NATS: () => (broker.isHealthy() ? null : 'there is no connection'),
      'the file store': blobFailure,
      'the spool': () => (spool.status().canTake ? null : 'it can take no deliveries: it is full, or its disk cannot be written to'),
    },
    details: () => ({ spooled_deliveries: spool.status().rows }),
    logger,
  });
