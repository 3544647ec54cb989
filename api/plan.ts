import { z } from 'zod';
import { createPlan, PlanCreate } from '../commands/plan.ts';
import { PLAN_SORTS, planPage } from '../projections/tenant-plan.queries.ts';
import { PlanRead, plans } from '../projections/tenant-plan.ts';
import { operation } from './operation.ts';
import { listQuery, windowOf } from './paging.ts';

const PLANS = '/admin/plans';

export const planOperations = {
  listPlans: operation({
    method: 'get',
    path: PLANS,
    summary: 'List the plans',
    permit: 'platform',
    query: listQuery({}, PLAN_SORTS),
    reply: z.array(PlanRead),
    reads: plans.name,
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
