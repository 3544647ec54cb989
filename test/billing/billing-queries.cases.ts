import * as agent from '../../projections/agents/agent.queries.ts';
import * as cost from '../../projections/billing/cost.queries.ts';
import * as plan from '../../projections/billing/plan.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { MIDDLE_TIME, pages, single, TENANT } from '../fixtures/query-case.ts';

const days = { tenant_id: TENANT, from: 'text 3', to: 'text 5' };

const queries: AreaCases['queries'] = {
  usageSince: { call: { rows: 'tenant', run: (reads) => cost.usageSince(reads, TENANT, 'text 3') } },
  usageByDay: { call: { rows: 'tenant', run: (reads) => cost.usageByDay(reads, days) } },
  usageOfDays: { call: { rows: 'tenant', run: (reads) => cost.usageOfDays(reads, days) } },
  usageOfMessages: {
    call: {
      rows: 'page',
      run: (reads) => cost.usageOfMessages(reads, { tenant_id: TENANT, from: MIDDLE_TIME, to: '2026-06-01T00:10:00.000Z' }),
    },
  },
  firstCostDay: single((reads) => cost.firstCostDay(reads, TENANT)),
  dailyTotals: { call: { rows: 'tenant', run: (reads) => cost.dailyTotals(reads, days) } },
  costliestAgents: { call: { rows: 'tenant', run: (reads) => cost.costliestAgents(reads, { ...days, most: 5 }) } },
  dailyCostsOf: { call: { rows: 'tenant', run: (reads) => cost.dailyCostsOf(reads, { ...days, agent_ids: ['a27'] }) } },
  dailyCosts: { call: { rows: 'tenant', run: (reads) => cost.dailyCosts(reads, days) } },
  planPage: pages(plan.planPage),
  planWithPrice: single((reads) => plan.planWithPrice(reads, 'text 7')),
  agentNames: { call: { rows: 'tenant', run: (reads) => agent.agentNames(reads, TENANT) } },
};

export const cases: AreaCases = { queries };
