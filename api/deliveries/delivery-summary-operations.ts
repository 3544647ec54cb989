import { z } from 'zod';
import { reportOpener } from '../../commands/runners/report-attempt.ts';
import { integer, YEAR_1 } from '../../domain/fields.ts';
import { invalid } from '../../domain/refusal.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import { lastFailures } from '../../projections/deliveries/delivery-list.queries.ts';
import { withDeliveryNames } from '../../projections/deliveries/delivery-names.queries.ts';
import { deliveryProblems, problemTrends } from '../../projections/deliveries/delivery-problems.queries.ts';
import { deliverySummary } from '../../projections/deliveries/delivery-summary.queries.ts';
import { DeliveryProblem, DeliverySummary, GROUPS } from '../../projections/deliveries/delivery-summary.ts';
import { readableAgents } from '../agents/readable-agents.ts';
import { operation } from '../http/operation.ts';
import { Decimal, Flag, TimeRange } from '../http/paging.ts';
import { assertOneState, TenantFilter } from './delivery-list.ts';
import type { DeliveryStates } from './delivery-states.ts';

const MAX_BUCKETS = 120;
/** The period of the problems if its start is absent, in milliseconds. */
const DEFAULT_PERIOD_MS = 30 * 86_400_000;
const NO_TREND: readonly number[] = Array.from({ length: 24 }, () => 0);

type BucketPeriod = { readonly from?: string | undefined; readonly to?: string | undefined; readonly fit: boolean };

/**
 * Returns the end of the period that is divided into buckets: `to` or, if it is absent, the present time.
 * @throws Refusal invalid
 */
const endOfBuckets = ({ from, to, fit }: BucketPeriod, now: string): string => {
  if (from === undefined && !fit) throw invalid('/query/from', 'is required with buckets', 'required');
  const end = to ?? now;
  if (Date.parse(end) <= YEAR_1) throw invalid('/query/to', 'must be later than 0001-01-01T00:00:00Z');
  if (from !== undefined && Date.parse(from) >= Date.parse(end)) throw invalid('/query/to', 'must be later than from');
  return end;
};

export const deliverySummaryOperationsOf = (states: DeliveryStates) => ({
  summarizeDeliveries: operation({
    method: 'get',
    path: '/tenant/:tenant_id/deliveries/summary',
    summary: 'Count deliveries by outcome',
    details: 'Takes the filters of the list of deliveries, and counts only those that the caller may see.',
    permit: 'tenant:read',
    permissionNote:
      'Requires the permission `tenant:read`. Counts the deliveries of the agents on which the caller has `agent:chat:read`; with `tenant:integrations:read`, all.',
    query: z.strictObject({
      ...TenantFilter,
      buckets: Decimal(integer(1, MAX_BUCKETS))
        .optional()
        .meta({ description: 'Into how many equal parts the time from `from` to `to` (default: now) is divided' }),
      fit: Flag.default(false).meta({
        description:
          'Whether the buckets begin at the first delivery, if this is later than `from`. They cover at least 12 minutes. `from` can then be left out. Requires `buckets`',
      }),
      by_state: Flag.default(false).meta({ description: 'Whether the deliveries are counted by state, too. This asks the broker' }),
      group_by: z.enum(GROUPS).optional().meta({ description: 'The field by whose values the deliveries are counted, too' }),
    }),
    reply: DeliverySummary,
    projection: deliveries.name,
    noETag: true,
    run: async (ctx, { tenant_id, buckets, group_by, by_state, fit, ...filter }) => {
      assertOneState(filter);
      if (fit && buckets === undefined) throw invalid('/query/buckets', 'is required with fit', 'required');
      const to = buckets === undefined ? filter.to : endOfBuckets({ ...filter, fit }, ctx.at());
      const agent_ids = await readableAgents(ctx);
      const queues = await (by_state ? states.openQueues : states.queuesFor)(ctx, { ...filter, agent_ids });
      const parts = { buckets, group_by, is_fitted: fit, queues: by_state ? queues : undefined };
      const summary = await deliverySummary(ctx.reads, { ...filter, to, tenant_id, agent_ids, queues }, parts);
      return { doc: JSON.stringify(summary), revision: null };
    },
  }),
  listDeliveryProblems: operation({
    method: 'get',
    path: '/tenant/:tenant_id/deliveries/problems',
    summary: 'Group rejected, blocked and dead deliveries',
    details:
      'Dead ones by agent, and by why their last attempt failed, as the runner has reported it; blocked ones by integration and rule; rejected ones by integration and reason. Without `from`, those of the 30 days before `to`. At most 200 groups, the latest first.',
    permit: 'tenant:integrations:read',
    query: z.strictObject({
      ...TimeRange,
      trend: Flag.default(false).meta({ description: 'Whether the deliveries of the last 24 hours are counted by hour, too' }),
    }),
    reply: z.array(DeliveryProblem),
    projection: deliveries.name,
    noETag: true,
    run: async (ctx, { tenant_id, to, trend, ...asked }) => {
      const from = asked.from ?? new Date(Math.max(Date.parse(to ?? ctx.at()) - DEFAULT_PERIOD_MS, YEAR_1)).toISOString();
      const [groups, { outcomes }, trends] = await Promise.all([
        deliveryProblems(ctx.reads, { tenant_id, from, to }),
        deliverySummary(ctx.reads, { tenant_id, from, to }, {}),
        trend ? problemTrends(ctx.reads, tenant_id, ctx.at()) : null,
      ]);
      const found = await withDeliveryNames(ctx.reads, tenant_id, groups);
      const total = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
      const ids = found.filter(({ outcome }) => outcome === 'dead').map(({ example_id }) => example_id);
      const failures = await lastFailures(ctx.reads, { tenant_id, ids }, reportOpener(ctx));
      const problems = found.map((problem) => ({
        ...problem,
        trend: trends && (trends.get(problem.fingerprint) ?? NO_TREND),
        share: problem.count / Math.max(problem.count, total),
        example_failure: failures.get(problem.example_id) ?? null,
      }));
      return { doc: JSON.stringify(problems), revision: null };
    },
  }),
});
