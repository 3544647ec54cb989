import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}                                              tenant:read
PATCH  /tenant/{tenant_id}                                              tenant:settings:write
GET    /tenant/{tenant_id}/history                                      tenant:read
GET    /tenant/{tenant_id}/overview                                     tenant:read
GET    /tenant/{tenant_id}/overview/counts                              tenant:read
GET    /tenant/{tenant_id}/diff                                         tenant:read
POST   /tenant/{tenant_id}/close                                        tenant:close
POST   /tenant/{tenant_id}/reopen                                       tenant:close
GET    /tenant/{tenant_id}/members                                      tenant:read
POST   /tenant/{tenant_id}/members                                      tenant:members:write
GET    /tenant/{tenant_id}/members/activity                             tenant:audit:read
GET    /tenant/{tenant_id}/members/{user_id}                            tenant:audit:read
PATCH  /tenant/{tenant_id}/members/{user_id}                            tenant:members:write
DELETE /tenant/{tenant_id}/members/{user_id}                            tenant:members:write
POST   /tenant/{tenant_id}/members/{user_id}/invitation                 tenant:members:write
GET    /tenant/{tenant_id}/agents/summary                               tenant:read
`,
  withoutAsOf: {
    listMemberActivity: 'counts the present access',
    readAgentSummary: 'what needs attention now',
    readOverview: 'what needs attention now, and sums over a period',
    readOverviewCounts: 'what waits now',
    readTenantHistory: 'all times at once',
    diffTenant: 'two times of its own',
  },
};
