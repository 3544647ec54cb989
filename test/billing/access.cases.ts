import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
POST   /tenant/{tenant_id}/agents/{agent_id}/budget/reserve             agent:read + runner only
POST   /tenant/{tenant_id}/budget-reservations/{reservation_id}/settle  any + runner only on reservation
GET    /tenant/{tenant_id}/billing/agent-costs                          tenant:billing:read
GET    /tenant/{tenant_id}/billing/costs                                tenant:billing:read
GET    /tenant/{tenant_id}/agents/{agent_id}/budget/usage               agent:read + runner
POST   /tenant/{tenant_id}/billing/checkout-session                     tenant:billing:write
POST   /tenant/{tenant_id}/billing/portal                               tenant:billing:write
POST   /connect/onboarding-link                                         any of a user
GET    /connect/status                                                  any of a user
`,
  withoutAsOf: {
    readAgentCosts: 'sums over a period',
    readCostBreakdown: 'sums over a period',
    readBudgetUsage: 'hours that `to` ends',
  },
};
