import { sql } from 'kysely';
import type { z } from 'zod';
import { problemFingerprint } from '../../domain/webhooks/problem-fingerprint.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';
import { type SelectedDeliveries, type SelectionArgs, selectDeliveries, selectionArgs } from './delivery-selection.ts';
import type { DeliveryProblem, DeliverySummary, GROUPS, Outcomes } from './delivery-summary.ts';

const NONE: Outcomes = { accepted: 0, blocked: 0, rejected: 0, dead: 0 };
const MAX_GROUPS = 100;
const MAX_PROBLEMS = 200;

type Counted = { readonly outcome: string | null; readonly count: string | number | bigint };

/**
 * Returns the counts of all outcomes; an outcome that `counts` does not contain gets 0. `counts` contains each outcome
 * at most once.
 */
const outcomesOf = (counts: readonly Counted[]): Outcomes => ({
  ...NONE,
  ...Object.fromEntries(counts.map(({ outcome, count }) => [outcome, Number(count)])),
});

const total = ({ accepted, blocked, rejected, dead }: Outcomes): number => accepted + blocked + rejected + dead;

const perOutcome = defineQuery((db, args: SelectionArgs) =>
  selectDeliveries(db, args)
    .groupBy('delivery.outcome')
    .select(['delivery.outcome', ({ fn }) => fn.countAll<string>().as('count')]),
);

/**
 * Counts deliveries in equal parts (buckets) of the time from `from` (inclusive) to `to` (exclusive). The buckets are
 * numbered from 1.
 */
const perBucket = defineQuery((db, { buckets, ...args }: SelectionArgs & { readonly buckets: number }) =>
  selectDeliveries(db, args)
    .select([
      sql<number>`width_bucket(extract(epoch from delivery.received_at)::float8, extract(epoch from ${args.from}::timestamptz)::float8, extract(epoch from ${args.to}::timestamptz)::float8, ${buckets}::int)`.as(
        'bucket',
      ),
      'delivery.outcome',
      ({ fn }) => fn.countAll<string>().as('count'),
    ])
    .groupBy(['bucket', 'delivery.outcome']),
);

type GroupField = (typeof GROUPS)[number];

const grouped = (field: GroupField) =>
  defineQuery((db, args: SelectionArgs) =>
    selectDeliveries(db, args)
      .groupBy([`delivery.${field}`, 'delivery.outcome'])
      .select([`delivery.${field} as key`, 'delivery.outcome', ({ fn }) => fn.countAll<string>().as('count')]),
  );

const PER_GROUP = {
  agent_id: grouped('agent_id'),
  integration_id: grouped('integration_id'),
  provider: grouped('provider'),
  event: grouped('event'),
  reason: grouped('reason'),
  matched_secret: grouped('matched_secret'),
} satisfies Readonly<Record<GroupField, unknown>>;

type Parts = { readonly buckets?: number | undefined; readonly group_by?: GroupField | undefined };

const bucketsOf = async (reads: Reads, args: SelectionArgs, count: number): Promise<z.output<typeof DeliverySummary>['buckets']> => {
  const [start, end] = [Date.parse(args.from!), Date.parse(args.to!)];
  const rows = Map.groupBy(await reads.rows(perBucket, { ...args, buckets: count }), ({ bucket }) => bucket);
  const boundary = (index: number): string => new Date(start + ((end - start) * index) / count).toISOString();
  return Array.from({ length: count }, (_, index) => ({
    from: boundary(index),
    to: boundary(index + 1),
    outcomes: outcomesOf(rows.get(index + 1) ?? []),
  }));
};

const groupsOf = async (reads: Reads, args: SelectionArgs, field: GroupField): Promise<z.output<typeof DeliverySummary>['groups']> =>
  [...Map.groupBy(await reads.rows(PER_GROUP[field], args), ({ key }) => key)]
    .map(([key, counts]) => ({ key, outcomes: outcomesOf(counts) }))
    .toSorted((one, other) => total(other.outcomes) - total(one.outcomes) || String(one.key).localeCompare(String(other.key)))
    .slice(0, MAX_GROUPS);

/**
 * Counts deliveries by outcome. If requested, also counts them for equal parts of the period from `from` to `to`, and
 * for the values of a field.
 */
export const deliverySummary = async (
  reads: Reads,
  selected: SelectedDeliveries,
  { buckets, group_by }: Parts,
): Promise<z.output<typeof DeliverySummary>> => {
  const args = selectionArgs(selected);
  const [counts, parts, groups] = await Promise.all([
    reads.rows(perOutcome, args),
    buckets === undefined ? [] : bucketsOf(reads, args, buckets),
    group_by === undefined ? [] : groupsOf(reads, args, group_by),
  ]);
  return { outcomes: outcomesOf(counts), groups, buckets: parts };
};

type ProblemArgs = { readonly tenant_id: string; readonly from?: string | undefined; readonly to?: string | undefined };

const problems = defineQuery((db, args: ProblemArgs) =>
  selectDeliveries(db, args)
    .where('delivery.outcome', 'in', ['rejected', 'dead'])
    .groupBy(['delivery.outcome', 'delivery.reason', 'delivery.integration_id'])
    .select(({ fn }) => [
      'delivery.outcome',
      'delivery.reason',
      'delivery.integration_id',
      fn.countAll<string>().as('count'),
      fn.min('delivery.received_at').as('first_at'),
      fn.max('delivery.received_at').as('last_at'),
      sql<string>`(array_agg(delivery.id order by delivery.received_at desc, delivery.id desc))[1]`.as('example_id'),
    ])
    .orderBy('last_at', 'desc')
    .orderBy('example_id', 'desc')
    .limit(({ lit }) => lit(MAX_PROBLEMS)),
);

/**
 * Groups the rejected and the dead deliveries of a tenant by reason and integration. Returns at most 200 groups, the
 * latest first.
 */
export const deliveryProblems = async (
  reads: Reads,
  args: ProblemArgs,
): Promise<Omit<z.output<typeof DeliveryProblem>, 'example_failure'>[]> =>
  (await reads.rows(problems, args)).map(({ outcome, reason, integration_id, count, first_at, last_at, example_id }) => ({
    fingerprint: problemFingerprint(outcome, reason, integration_id),
    outcome: outcome as 'rejected' | 'dead',
    reason,
    integration_id: integration_id!,
    count: Number(count),
    first_at: first_at!,
    last_at: last_at!,
    example_id,
  }));
