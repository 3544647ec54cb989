import { defineList } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { PlanRead, table } from './plan.ts';

export const PLAN_SORTS = sortFields(table, PlanRead);

const planList = defineList({ table }, (db) => db.selectFrom('plans.plans as plan'));

/** Returns a page of plans, as PlanRead. */
export const planPage = (reads: Reads, window: PageWindow): Promise<Page> => reads.page(planList, {}, window);
