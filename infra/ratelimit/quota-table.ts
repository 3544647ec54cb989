import type { Logger } from 'pino';
import { arrayText, openPool, statement } from '../postgres/pool.ts';
import type { QuotaTable } from './shared-quota.ts';

const ANSWER_MS = 500;
/** After so long its one connection leads nowhere any more: the next asks by another. */
const LOST_MS = 3_000;
const PRUNE_MS = 60_000;
/** No row is ahead of now by more: what a database with another clock wrote closes nothing for longer. */
const MAX_LEASE_MS = 120_000;

// One clock for all processes: the database's.
const NOW = '(extract(epoch from now()) * 1000)::double precision';
const charging = statement(`
  insert into annals.limits as held (key, full_at)
  select key, ${NOW} + cost from unnest($1::text[], $2::double precision[]) as asked(key, cost) order by key
  on conflict (key) do update set full_at = greatest(least(held.full_at, ${NOW} + ${MAX_LEASE_MS}), ${NOW}) + excluded.full_at - ${NOW}
  returning key, full_at - ${NOW} as ahead`);
const pruning = `delete from annals.limits where key in (select key from annals.limits where full_at < ${NOW} for update skip locked)`;

/** The rows of rate limits, made by the worker. Half a second for an answer; a full bucket needs no row and loses it within a minute. */
export const openQuotaTable = (databaseUrl: string, logger: Logger): QuotaTable & { readonly close: () => Promise<void> } => {
  const pool = openPool(databaseUrl, logger, 'limits', { max: 1, options: '-c synchronous_commit=off', answerMs: LOST_MS });
  let pruned = performance.now();

  const charge = async (costs: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>> => {
    const values = [arrayText([...costs.keys()]), arrayText([...costs.values()])];
    const { rows } = await pool.query<{ key: string; ahead: number }>({ ...charging, values });
    if (performance.now() - pruned > PRUNE_MS) {
      pruned = performance.now();
      pool.query(pruning).catch(({ message }: Error) => logger.debug({ reason: message }, 'limits were not pruned'));
    }
    return new Map(rows.map(({ key, ahead }) => [key, ahead]));
  };

  return {
    charge: async (costs) => {
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(() => late.reject(new Error('the limits did not answer in time')), ANSWER_MS);
      try {
        return await Promise.race([charge(costs), late.promise]);
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => pool.end(),
  };
};
