import type { Logger } from 'pino';
import { arrayText, openPool, preparedStatement } from '../postgres/pool.ts';
import type { QuotaTable } from './settlement-queue.ts';

const ANSWER_TIMEOUT_MS = 500;
/** A statement without an answer for this long, in milliseconds, makes the pool drop its only connection; the next opens a new one. */
const CONNECTION_TIMEOUT_MS = 3_000;
const PRUNE_INTERVAL_MS = 60_000;
/** How far a row's `full_at` may be ahead, in milliseconds: one written while the clock was wrong blocks a bucket no longer than this. */
const MAX_AHEAD_MS = 120_000;

// The current time in Unix milliseconds, by the database's clock, because all processes share that clock.
const NOW = '(extract(epoch from now()) * 1000)::double precision';
const chargeStatement = preparedStatement(`
  insert into annals.limits as stored (key, full_at)
  select key, ${NOW} + cost from unnest($1::text[], $2::double precision[]) as charge(key, cost) order by key
  on conflict (key) do update set full_at = greatest(least(stored.full_at, ${NOW} + ${MAX_AHEAD_MS}), ${NOW}) + excluded.full_at - ${NOW}
  returning key, full_at - ${NOW} as ahead`);
const pruneStatement = `delete from annals.limits where key in (select key from annals.limits where full_at < ${NOW} for update skip locked)`;

/** The worker process creates it. `charge` throws after half a second without an answer. Rows of full buckets are deleted once a minute. */
export const openQuotaTable = (databaseUrl: string, logger: Logger): QuotaTable & { readonly close: () => Promise<void> } => {
  const pool = openPool(databaseUrl, logger, 'limits', {
    max: 1,
    options: '-c synchronous_commit=off',
    queryTimeoutMs: CONNECTION_TIMEOUT_MS,
  });
  let prunedAt = performance.now();

  const pruneIfDue = (): void => {
    if (performance.now() - prunedAt <= PRUNE_INTERVAL_MS) return;
    prunedAt = performance.now();
    pool.query(pruneStatement).catch(({ message }: Error) => logger.debug({ reason: message }, 'expired rate limits could not be deleted'));
  };

  const charge = async (costs: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>> => {
    const values = [arrayText([...costs.keys()]), arrayText([...costs.values()])];
    const { rows } = await pool.query<{ key: string; ahead: number }>({ ...chargeStatement, values });
    pruneIfDue();
    return new Map(rows.map(({ key, ahead }) => [key, ahead]));
  };

  return {
    charge: async (costs) => {
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(() => late.reject(new Error('the quota table did not answer in time')), ANSWER_TIMEOUT_MS);
      try {
        return await Promise.race([charge(costs), late.promise]);
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => pool.end(),
  };
};
