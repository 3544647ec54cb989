import type { Page, PageQuery, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { PlanRead, plans, table } from './plan.ts';

export const PLAN_SORTS = sortFields(table, PlanRead);

/** A page of PlanRead. */
export const planPage = (reads: Reads, window: Pick<PageQuery, 'sort' | 'limit' | 'cursor'>): Promise<Page> =>
  reads.page({ from: { projection: plans.name, table }, where: [], ...window });
