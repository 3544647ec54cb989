import { z } from 'zod';
import { reportOpener } from '../../commands/runners/report-attempt.ts';
import { integer } from '../../domain/fields.ts';
import { invalid } from '../../domain/refusal.ts';
import { deliveries } from '../../projections/webhooks/delivery.ts';
import { lastFailures } from '../../projections/webhooks/delivery-list.queries.ts';
import { deliveryProblems, deliverySummary } from '../../projections/webhooks/delivery-summary.queries.ts';
import { DeliveryProblem, DeliverySummary, GROUPS } from '../../projections/webhooks/delivery-summary.ts';
import { readableAgents } from '../agents/readable-agents.ts';
import { operation } from '../http/operation.ts';
import { Decimal, TimeRange } from '../http/paging.ts';
import { TenantFilter } from './delivery-list.ts';
import type { DeliveryStates } from './delivery-states.ts';

const MAX_BUCKETS = 120;

/**
 * Returns the end of the period that is divided into buckets: `to` or, if it is absent, the present time.
 * @throws Refusal invalid
 */
const endOfBuckets = ({ from, to }: { readonly from?: string | undefined; readonly to?: string | undefined }, now: string): string => {
  if (from === undefined) throw invalid('/query/from', 'is required with buckets', 'required');
  const end = to ?? now;
  if (Date.parse(from) >= Date.parse(end)) throw invalid('/query/to', 'must be later than from');
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
      group_by: z.enum(GROUPS).optional().meta({ description: 'The field by whose values the deliveries are counted, too' }),
    }),
    reply: DeliverySummary,
    projection: deliveries.name,
    noETag: true,
    run: async (ctx, { tenant_id, buckets, group_by, ...filter }) => {
      const to = buckets === undefined ? filter.to : endOfBuckets(filter, ctx.at());
      const agent_ids = await readableAgents(ctx);
      const queues = await states.queuesFor(ctx, { ...filter, agent_ids });
      const summary = await deliverySummary(ctx.reads, { ...filter, to, tenant_id, agent_ids, queues }, { buckets, group_by });
      return { doc: JSON.stringify(summary), revision: null };
    },
  }),
  listDeliveryProblems: operation({
    method: 'get',
    path: '/tenant/:tenant_id/deliveries/problems',
    summary: 'Group rejected and dead deliveries',
    details: 'By outcome, reason and integration: at most 200 groups, the latest first.',
    permit: 'tenant:integrations:read',
    query: z.strictObject(TimeRange),
    reply: z.array(DeliveryProblem),
    projection: deliveries.name,
    noETag: true,
    run: async (ctx, { tenant_id, from, to }) => {
      const found = await deliveryProblems(ctx.reads, { tenant_id, from, to });
      const ids = found.filter(({ outcome }) => outcome === 'dead').map(({ example_id }) => example_id);
      const failures = await lastFailures(ctx.reads, { tenant_id, ids }, reportOpener(ctx));
      const problems = found.map((problem) => ({ ...problem, example_failure: failures.get(problem.example_id) ?? null }));
      return { doc: JSON.stringify(problems), revision: null };
    },
  }),
});
