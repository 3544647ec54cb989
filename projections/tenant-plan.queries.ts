import type { Page, PageQuery, Reads } from './reads.ts';
import { sortFields } from './tables.ts';
import { PlanRead, plans, table } from './tenant-plan.ts';

export const PLAN_SORTS = sortFields(table, PlanRead);

/** A page of PlanRead. */
export const planPage = (reads: Reads, window: Pick<PageQuery, 'sort' | 'limit' | 'cursor'>): Promise<Page> =>
  reads.page({ from: { projection: plans.name, table }, where: [], ...window });
