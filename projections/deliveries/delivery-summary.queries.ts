import { sql } from 'kysely';
import type { z } from 'zod';
import { YEAR_1 } from '../../domain/fields.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';
import {
  isOpen,
  openState,
  queueArgs,
  type SelectedDeliveries,
  type SelectionArgs,
  selectDeliveries,
  selectionArgs,
} from './delivery-selection.ts';
import type { AgentQueues } from './delivery-states.ts';
import type { DeliverySummary, GROUPS, Outcomes } from './delivery-summary.ts';

const NONE: Outcomes = { accepted: 0, blocked: 0, rejected: 0, dead: 0 };
const MAX_GROUPS = 100;

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

/** Counts the open deliveries by state, and whether a rule holds them. The arguments are those of `queueArgs`, too. */
const openCounts = defineQuery((db, args: SelectionArgs) => {
  const open = selectDeliveries(db, args)
    .where(isOpen)
    .select([openState(db, args).as('state'), sql<boolean>`delivery.held_at is not null`.as('is_by_rule')])
    .as('open');
  return db
    .selectFrom(open)
    .groupBy(['open.state', 'open.is_by_rule'])
    .select(['open.state', 'open.is_by_rule', ({ fn }) => fn.countAll<string>().as('count')]);
});

/** Counts the dead deliveries that were held too long. */
const expiredCount = defineQuery((db, args: SelectionArgs) =>
  selectDeliveries(db, args)
    .where('delivery.outcome', '=', 'dead')
    .where('delivery.reason', '=', 'held_too_long')
    .select(({ fn }) => fn.countAll<string>().as('count')),
);

type ByState = Pick<z.output<typeof DeliverySummary>, 'states' | 'replayable'>;

const countIn = (rows: readonly { readonly count: string }[]): number => rows.reduce((sum, { count }) => sum + Number(count), 0);

/** Counts deliveries by state, and those that can be sent again. `outcomes` are the counts of the same deliveries. */
const statesOf = async (reads: Reads, args: SelectionArgs, outcomes: Outcomes, queues: AgentQueues): Promise<ByState> => {
  const { accepted, dead, blocked, rejected } = outcomes;
  const [open, expired] = await Promise.all([
    reads.rows(openCounts, { ...args, ...queueArgs(queues) }),
    dead === 0 ? [] : reads.rows(expiredCount, args),
  ]);
  const countOf = (state: string): number => countIn(open.filter((row) => row.state === state));
  const [waiting, queued, running] = [countOf('waiting'), countOf('queued'), countOf('running')];
  const [retrying, held, acknowledged] = [countOf('retrying'), countOf('held'), accepted - countIn(open)];
  const sendableDead = dead - countIn(expired);
  return {
    states: { waiting, queued, running, retrying, held, acknowledged, dead, blocked, rejected },
    replayable: { all: accepted - countIn(open.filter((row) => row.is_by_rule)) + sendableDead, dead: sendableDead },
  };
};

const NO_STATES: ByState = { states: null, replayable: null };

/** What is counted besides the outcomes. With `queues`, also the states; `is_fitted`: the buckets begin at the first delivery. */
type Parts = {
  readonly buckets?: number | undefined;
  readonly group_by?: GroupField | undefined;
  readonly queues?: AgentQueues | undefined;
  readonly is_fitted?: boolean | undefined;
};

/** The shortest period that is divided into buckets if it begins at the first delivery, in milliseconds. */
const MIN_FITTED_MS = 12 * 60_000;

const first = defineQuery((db, args: SelectionArgs) =>
  selectDeliveries(db, args)
    .select('delivery.received_at')
    .orderBy('delivery.received_at')
    .orderBy('delivery.id')
    .limit(({ lit }) => lit(1)),
);

/**
 * Returns the arguments with a period that begins at the first delivery in it. It has at least MIN_FITTED_MS, unless it
 * begins at `from` or in year 1. `to` is after the start of year 1.
 */
const fitted = async (reads: Reads, args: SelectionArgs): Promise<SelectionArgs> => {
  const [found] = await reads.rows(first, args);
  const latest = Math.max(Date.parse(args.to!) - MIN_FITTED_MS, YEAR_1);
  if (!found) return { ...args, from: args.from ?? new Date(latest).toISOString() };
  const start = Math.min(Date.parse(found.received_at!), latest);
  return { ...args, from: new Date(Math.max(start, args.from === undefined ? start : Date.parse(args.from))).toISOString() };
};

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

type GroupRow = Counted & { readonly key: string | null };
type Groups = z.output<typeof DeliverySummary>['groups'];

const groupsOf = (rows: readonly GroupRow[]): Groups =>
  [...Map.groupBy(rows, ({ key }) => key)]
    .map(([key, counts]) => ({ key, outcomes: outcomesOf(counts) }))
    .toSorted((one, other) => total(other.outcomes) - total(one.outcomes) || String(one.key).localeCompare(String(other.key)));

/** Adds up the counts of all groups. */
const summed = (groups: Groups): Outcomes => {
  const sumOf = (outcome: keyof Outcomes): number => groups.reduce((sum, { outcomes }) => sum + outcomes[outcome], 0);
  return { accepted: sumOf('accepted'), blocked: sumOf('blocked'), rejected: sumOf('rejected'), dead: sumOf('dead') };
};

/**
 * Counts deliveries by outcome. If requested, also counts them for equal parts of the period from `from` to `to`, and
 * for the values of a field.
 */
export const deliverySummary = async (
  reads: Reads,
  selected: SelectedDeliveries,
  { buckets, group_by, queues, is_fitted = false }: Parts,
): Promise<z.output<typeof DeliverySummary>> => {
  const args = selectionArgs(selected);
  const grouped = group_by === undefined ? null : reads.rows(PER_GROUP[group_by], args).then(groupsOf);
  const outcomes = grouped ? grouped.then(summed) : reads.rows(perOutcome, args).then(outcomesOf);
  const inBuckets = async (count: number) => bucketsOf(reads, is_fitted ? await fitted(reads, args) : args, count);
  // Each promise is awaited from the start: a rejection that no code awaits yet would end the process.
  const [counts, byState, parts, groups] = await Promise.all([
    outcomes,
    queues === undefined ? NO_STATES : outcomes.then((found) => statesOf(reads, args, found, queues)),
    buckets === undefined ? [] : inBuckets(buckets),
    grouped ?? [],
  ]);
  return { outcomes: counts, ...byState, groups: groups.slice(0, MAX_GROUPS), buckets: parts };
};
