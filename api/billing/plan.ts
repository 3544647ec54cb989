import { z } from 'zod';
import { createPlan, PlanCreate } from '../../commands/billing/plan.ts';
import { PLAN_SORTS, planPage } from '../../projections/billing/plan.queries.ts';
import { PlanRead, plans } from '../../projections/billing/plan.ts';
import { operation } from '../http/operation.ts';
import { listQuery, windowOf } from '../http/paging.ts';

const PLANS = '/admin/plans';

export const planOperations = {
  listPlans: operation({
    method: 'get',
    path: PLANS,
    summary: 'List the plans',
    permit: 'platform',
    query: listQuery({}, PLAN_SORTS),
    reply: z.array(PlanRead),
    projection: plans.name,
    run: (ctx, window) => planPage(ctx.reads, windowOf(window, PLAN_SORTS)),
  }),
  createPlan: operation({
    method: 'post',
    path: PLANS,
    summary: 'Create a plan',
    permit: 'platform',
    body: PlanCreate,
    reply: PlanRead,
    status: 201,
    location: `${PLANS}/:id`,
    run: createPlan,
  }),
};
