import type { Logger } from 'pino';
import { closeDueTenants, type TransactTenant } from '../../commands/tenants/close-tenants.reactor.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { tenantsDueAt } from '../../projections/tenants/tenant.queries.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import { retryDelay } from '../backoff.ts';
import type { Log } from '../eventstore/event-log.ts';
import { type AdvisoryLocks, openAdvisoryLocks } from '../postgres/advisory-locks.ts';
import { readsOver } from '../readmodel/postgres-read-model.ts';

const INTERVAL_MS = 5 * 60_000;
const RETRY_DELAY_MS = 5_000;
/** The share by which each delay is randomly shorter or longer (±10 %). */
const JITTER = 0.1;
const LOCK = 'reactor tenant closings';
/**
 * The SQLSTATE codes for a missing table and a missing column. They mean that the workers have not built this version
 * of the projection yet.
 */
const MISSING_TABLE = ['42P01', '42703'];

/**
 * Returns a function that closes tenants with `closeDueTenants`, using this log. `at` is the current time (RFC 3339
 * UTC).
 */
export const tenantCloser = (log: Log) => {
  const transact = createTransact(log, openAggregateCache(log, []));
  const transactTenant: TransactTenant = (id, decide, { actor, at, seed }) =>
    transact({ aggregate: Tenant, tenant: id, id, decide, meta: { tenant: id, actor, at, v: 1 }, seed });
  return (tenantIds: readonly string[], at: string): Promise<void> => closeDueTenants(transactTenant, tenantIds, at);
};

export type TenantCloserParts = {
  readonly log: Log;
  readonly databaseUrl: string;
  readonly logger: Logger;
  readonly now?: () => number;
  readonly intervalMs?: number;
};

/**
 * Opens the lock that ensures that only one process at a time closes tenants. Its methods throw the driver's error if
 * the database is unavailable.
 */
const openLock = (databaseUrl: string) => {
  let isHeld = false;
  const locks: AdvisoryLocks = openAdvisoryLocks(databaseUrl, () => {
    isHeld = false;
  });
  return {
    connect: locks.connect,
    /** Tries to acquire the lock if this process does not hold it. Returns whether this process holds the lock now. */
    acquire: async (): Promise<boolean> => {
      isHeld ||= (await locks.acquire([LOCK])).length > 0;
      return isHeld;
    },
    close: locks.close,
  };
};

/**
 * Checks every five minutes whether tenants are due to be closed for good, and closes them. If none is due, a check
 * costs one index look-up. A lock ensures that only one process does this. The other processes try to take the lock at
 * each check.
 */
export const startTenantCloser = ({ log, databaseUrl, logger, now = Date.now, intervalMs = INTERVAL_MS }: TenantCloserParts) => {
  const close = tenantCloser(log);
  const lock = openLock(databaseUrl);
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const closeTenants = async (): Promise<void> => {
    const db = await lock.connect();
    if (!(await lock.acquire())) return;
    const at = new Date(now()).toISOString();
    const ids = await tenantsDueAt(
      readsOver(async (statement) => (await db.query(statement)).rows),
      at,
    );
    await close(ids, at);
    if (ids.length > 0) logger.info({ tenants: ids }, 'tenants were closed for good');
  };

  const logFailure = ({ code = '', message }: Error & { code?: string }): void =>
    logger[MISSING_TABLE.includes(code) ? 'debug' : 'warn']({ reason: message }, 'tenants cannot be closed now; trying again');

  const tick = async (): Promise<void> => {
    const delay = await closeTenants().then(
      () => intervalMs,
      (error: Error) => {
        logFailure(error);
        return Math.min(RETRY_DELAY_MS, intervalMs);
      },
    );
    if (!isClosed) timer = setTimeout(startTick, retryDelay({ minMs: delay, maxMs: delay, jitter: JITTER }, 1)).unref();
  };
  let running = Promise.resolve();
  const startTick = (): void => {
    running = tick();
  };
  startTick();

  return {
    close: async (): Promise<void> => {
      isClosed = true;
      clearTimeout(timer);
      await running;
      await lock.close();
    },
  };
};
