import { sql } from 'kysely';
import type { z } from 'zod';
import { problemFingerprint } from '../../domain/webhooks/problem-fingerprint.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';
import { selectDeliveries } from './delivery-selection.ts';
import type { DeliveryProblem } from './delivery-summary.ts';

const MAX_PROBLEMS = 200;

type ProblemArgs = { readonly tenant_id: string; readonly from?: string | undefined; readonly to?: string | undefined };

/** Returns an expression for the only value of a column in a group; null if there are several. */
const only = (column: 'reason' | 'agent_id' | 'integration_id') =>
  sql<string | null>`case when min(keyed.${sql.ref(column)}) = max(keyed.${sql.ref(column)}) then min(keyed.${sql.ref(column)}) end`;

/**
 * Groups the deliveries. Dead ones are grouped by agent, and by why they failed: as their runner has reported it or,
 * without a report, by how they ended. Blocked and rejected ones are grouped by where they came from, and by rule or
 * reason.
 */
const problems = defineQuery((db, args: ProblemArgs) =>
  db
    .selectFrom(
      selectDeliveries(db, args)
        .where('delivery.outcome', 'in', ['rejected', 'dead', 'blocked'])
        .select(['delivery.id', 'delivery.outcome', 'delivery.reason', 'delivery.agent_id', 'delivery.integration_id'])
        .select('delivery.received_at')
        .select([
          sql<string | null>`case when delivery.outcome = 'blocked' then delivery.rule end`.as('rule'),
          sql<string | null>`case when delivery.outcome = 'dead' then delivery.problem end`.as('problem'),
          sql<string>`case when delivery.outcome = 'dead' then delivery.agent_id else delivery.integration_id end`.as('where'),
          sql<string | null>`case when delivery.outcome = 'dead' and delivery.problem is not null then null else delivery.reason end`.as(
            'why',
          ),
        ])
        .as('keyed'),
    )
    .groupBy(['keyed.outcome', 'keyed.why', 'keyed.rule', 'keyed.problem', 'keyed.where'])
    .select(({ fn }) => [
      'keyed.outcome',
      'keyed.why',
      'keyed.rule',
      'keyed.problem',
      'keyed.where',
      only('reason').as('reason'),
      only('agent_id').as('agent_id'),
      only('integration_id').as('integration_id'),
      fn.countAll<string>().as('count'),
      fn.min('keyed.received_at').as('first_at'),
      fn.max('keyed.received_at').as('last_at'),
      sql<string>`(array_agg(keyed.id order by keyed.received_at desc, keyed.id desc))[1]`.as('example_id'),
    ])
    .orderBy('last_at', 'desc')
    .orderBy('example_id', 'desc')
    .limit(({ lit }) => lit(MAX_PROBLEMS)),
);

/** A group, without what other reads add. */
export type FoundProblem = Omit<z.output<typeof DeliveryProblem>, 'example_failure' | 'share' | 'agent_name' | 'integration_label'>;

/**
 * Groups the rejected, blocked and dead deliveries of a tenant by why they ended like this, and where. Returns at most
 * 200 groups, the latest first.
 */
export const deliveryProblems = async (reads: Reads, args: ProblemArgs): Promise<FoundProblem[]> =>
  (await reads.rows(problems, args)).map(({ outcome, why, where, count, first_at, last_at, ...found }) => ({
    ...found,
    fingerprint: problemFingerprint(outcome, why, where, found.rule, found.problem),
    outcome: outcome as FoundProblem['outcome'],
    count: Number(count),
    first_at: first_at!,
    last_at: last_at!,
  }));
