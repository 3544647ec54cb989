import type { Logger } from 'pino';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { table, tenants } from '../../projections/tenants/tenant.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import type { Log } from '../eventstore/event-log.ts';
import { openLocks } from '../postgres/advisory-locks.ts';
import { quoted } from '../postgres/pool.ts';

const EVERY_MS = 5 * 60_000;
const RETRY_MS = 5_000;
/** So many in one look; further ones in the next. */
const AT_ONCE = 200;
const LOCK = 'reactor tenant closings';
/** No such table, or no such column: the view has not been made in this shape yet. */
const UNMADE = ['42P01', '42703'];

const due = `select id from ${quoted(tenants.name)}.${quoted(table.name)} where closes_at <= $1::timestamptz order by closes_at limit ${AT_ONCE}`;

const unlessErased = (error: unknown): void => {
  if (!(error instanceof Refusal) || error.code !== 'not_found') throw error;
};

/**
 * Closes for good those of the tenants whose time has come at `at` (RFC 3339 UTC). The view only says where to look: each tenant's own
 * events decide, at their revision, so that a second process, a crash or a stale view closes none twice and none too early.
 */
export const closeDueTenants = (log: Log) => {
  const transact = createTransact(log, openAggregateCache(log, []));
  return async (ids: readonly string[], at: string): Promise<void> => {
    for (const id of ids)
      await transact({
        aggregate: Tenant,
        tenant: id,
        id,
        decide: Tenant.closeForGood(at),
        meta: { tenant: id, actor: { kind: 'system', id: 'annals' }, at, v: 1 },
        seed: 'closed',
      }).catch(unlessErased);
  };
};

export type ClosingParts = {
  readonly log: Log;
  readonly databaseUrl: string;
  readonly logger: Logger;
  readonly now?: () => number;
  readonly everyMs?: number;
};

/**
 * Looks every five minutes, by the clock of that moment, for tenants that are to be closed for good: one probe of an index while there
 * are none. One process at a time does so, by lock; the others stand by.
 */
export const startTenantCloser = ({ log, databaseUrl, logger, now = Date.now, everyMs = EVERY_MS }: ClosingParts) => {
  const close = closeDueTenants(log);
  let isOurs = false;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const locks = openLocks(databaseUrl, () => {
    isOurs = false;
  });

  const look = async (): Promise<void> => {
    const db = await locks.connect();
    isOurs ||= (await locks.acquire([LOCK])).length > 0;
    if (!isOurs) return;
    const at = new Date(now()).toISOString();
    const { rows } = await db.query<{ id: string }>(due, [at]);
    await close(
      rows.map(({ id }) => id),
      at,
    );
    if (rows.length > 0) logger.info({ tenants: rows.map(({ id }) => id) }, 'closed for good');
  };

  const turn = async (): Promise<void> => {
    const wait = await look().then(
      () => everyMs,
      (error: Error & { code?: string }) => {
        logger[UNMADE.includes(error.code ?? '') ? 'debug' : 'warn']({ reason: error.message }, 'tenants are not closed yet');
        return Math.min(RETRY_MS, everyMs);
      },
    );
    if (!closed) timer = setTimeout(next, wait * (0.9 + Math.random() / 5)).unref();
  };
  let running = Promise.resolve();
  const next = (): void => {
    running = turn();
  };
  next();

  return {
    close: async (): Promise<void> => {
      closed = true;
      clearTimeout(timer);
      await running;
      await locks.close();
    },
  };
};
