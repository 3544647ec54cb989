import { type Kysely, sql } from 'kysely';
import type { z } from 'zod';
import { problemFingerprint } from '../../domain/deliveries/problem-fingerprint.ts';
import type { Database } from '../database.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';
import { newestId, selectDeliveries } from './delivery-selection.ts';
import type { DeliveryProblem } from './delivery-summary.ts';

const MAX_PROBLEMS = 200;

type ProblemArgs = { readonly tenant_id: string; readonly from?: string | undefined; readonly to?: string | undefined };

/** Returns an expression for the only value of a column in a group; null if there are several. */
const only = (column: 'reason' | 'agent_id' | 'integration_id') =>
  sql<string | null>`case when min(keyed.${sql.ref(column)}) = max(keyed.${sql.ref(column)}) then min(keyed.${sql.ref(column)}) end`;

/**
 * The deliveries with what they are grouped by. Dead ones are grouped by agent, and by why they failed: as their runner
 * has reported it or, without a report, by how they ended. Blocked and rejected ones are grouped by where they came
 * from, and by rule or reason.
 */
const keyedIn = (db: Kysely<Database>, args: ProblemArgs) =>
  selectDeliveries(db, args)
    .where('delivery.outcome', 'in', ['rejected', 'dead', 'blocked'])
    .select(['delivery.id', 'delivery.outcome', 'delivery.reason', 'delivery.agent_id', 'delivery.integration_id', 'delivery.received_at'])
    .select([
      sql<string | null>`case when delivery.outcome = 'blocked' then delivery.rule end`.as('rule'),
      sql<string | null>`case when delivery.outcome = 'dead' then delivery.problem end`.as('problem'),
      sql<string>`case when delivery.outcome = 'dead' then delivery.agent_id else delivery.integration_id end`.as('where'),
      sql<string | null>`case when delivery.outcome = 'dead' and delivery.problem is not null then null else delivery.reason end`.as('why'),
    ])
    .as('keyed');

const KEYS = ['keyed.outcome', 'keyed.why', 'keyed.rule', 'keyed.problem', 'keyed.where'] as const;

const problems = defineQuery((db, args: ProblemArgs) =>
  db
    .selectFrom(keyedIn(db, args))
    .groupBy(KEYS)
    .select(KEYS)
    .select(({ fn }) => [
      only('reason').as('reason'),
      only('agent_id').as('agent_id'),
      only('integration_id').as('integration_id'),
      fn.countAll<string>().as('count'),
      fn.min('keyed.received_at').as('first_at'),
      fn.max('keyed.received_at').as('last_at'),
      newestId('keyed').as('example_id'),
    ])
    .orderBy('last_at', 'desc')
    .orderBy('example_id', 'desc')
    .limit(({ lit }) => lit(MAX_PROBLEMS)),
);

/** Counts the groups by hour. Hour 0 is the one that ends at `to`. */
const hours = defineQuery((db, args: ProblemArgs) =>
  db
    .selectFrom(keyedIn(db, args))
    .select(KEYS)
    .select(({ fn }) => [
      sql<number>`floor(extract(epoch from ${args.to}::timestamptz - keyed.received_at) / 3600)::integer`.as('hour'),
      fn.countAll<string>().as('count'),
    ])
    .groupBy([...KEYS, 'hour']),
);

type Keys = { readonly [Name in 'outcome' | 'why' | 'rule' | 'problem' | 'where']: string | null };

const fingerprintOf = ({ outcome, why, where, rule, problem }: Keys): string => problemFingerprint(outcome, why, where, rule, problem);

const HOURS = 24;
const HOUR_MS = 3_600_000;

/**
 * Returns how many deliveries each group got in each of the 24 hours until `to`, the earliest first, by the fingerprints
 * of the groups. A group without any is missing.
 */
export const problemTrends = async (reads: Reads, tenant_id: string, to: string): Promise<ReadonlyMap<string, readonly number[]>> => {
  const from = new Date(Date.parse(to) - HOURS * HOUR_MS).toISOString();
  const rows = Map.groupBy(await reads.rows(hours, { tenant_id, from, to }), fingerprintOf);
  return new Map(
    [...rows].map(([fingerprint, found]) => {
      const counts = new Map(found.map(({ hour, count }) => [hour, Number(count)]));
      return [fingerprint, Array.from({ length: HOURS }, (_, index) => counts.get(HOURS - 1 - index) ?? 0)];
    }),
  );
};

/** A group, without what other reads add. */
export type FoundProblem = Omit<
  z.output<typeof DeliveryProblem>,
  'example_failure' | 'share' | 'trend' | 'agent_name' | 'integration_label'
>;

/**
 * Groups the rejected, blocked and dead deliveries of a tenant by why they ended like this, and where. Returns at most
 * 200 groups, the latest first.
 */
export const deliveryProblems = async (reads: Reads, args: ProblemArgs): Promise<FoundProblem[]> =>
  (await reads.rows(problems, args)).map(({ outcome, why, where, count, first_at, last_at, ...found }) => ({
    ...found,
    fingerprint: fingerprintOf({ outcome, why, where, ...found }),
    outcome: outcome as FoundProblem['outcome'],
    count: Number(count),
    first_at: first_at!,
    last_at: last_at!,
  }));
