import { defineList, defineQuery } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { PlanRead, table } from './plan.ts';

export const PLAN_SORTS = sortFields(table, PlanRead);

const planList = defineList({ table }, (db) => db.selectFrom('plans.plans as plan'));

export const planPage = (reads: Reads, window: PageWindow): Promise<Page> => reads.page(planList, {}, window);

const plansWithPrice = defineQuery((db, { price_id }: { price_id: string }) =>
  db
    .selectFrom('plans.plans as plan')
    .select('plan.id')
    .where('plan.price_id', '=', price_id)
    .orderBy('plan.created_at')
    .orderBy('plan.id')
    .limit(({ lit }) => lit(1)),
);

/** Returns the id of the oldest plan with this price at the payment provider; null if there is none. */
export const planWithPrice = async (reads: Pick<Reads, 'rows'>, price_id: string): Promise<string | null> =>
  (await reads.rows(plansWithPrice, { price_id }))[0]?.id ?? null;
