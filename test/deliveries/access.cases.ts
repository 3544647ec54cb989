import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/webhook-integrations/{id}/deliveries         tenant:read on delivery
POST   /tenant/{tenant_id}/webhook-integrations/{id}/test-delivery      tenant:integrations:write
POST   /tenant/{tenant_id}/webhook-integrations/{id}/replay             tenant:integrations:write
GET    /tenant/{tenant_id}/jobs                                         tenant:read
GET    /tenant/{tenant_id}/jobs/{id}                                    tenant:integrations:read
POST   /tenant/{tenant_id}/jobs/{id}/cancel                             tenant:integrations:write
GET    /tenant/{tenant_id}/deliveries                                   tenant:read
GET    /tenant/{tenant_id}/deliveries/summary                           tenant:read
GET    /tenant/{tenant_id}/deliveries/held                              tenant:read
GET    /tenant/{tenant_id}/deliveries/problems                          tenant:integrations:read
POST   /tenant/{tenant_id}/deliveries/replay                            tenant:integrations:write
GET    /tenant/{tenant_id}/deliveries/{delivery_id}                     tenant:read on delivery
GET    /tenant/{tenant_id}/deliveries/{delivery_id}/body                tenant:read on delivery + runner
POST   /tenant/{tenant_id}/deliveries/{delivery_id}/redeliver           tenant:integrations:write
POST   /tenant/{tenant_id}/deliveries/{delivery_id}/release             tenant:integrations:write
`,
  withoutAsOf: {
    listDeliveries: 'a list that is not among those of decisions.md; each of them has it',
    listTenantDeliveries: 'a list that is not among those of decisions.md; each of them has it',
    summarizeDeliveries: 'sums over a period',
    listDeliveryProblems: 'sums over a period',
    listHeldDeliveries: 'budgets and rules act in the present',
    getJob: 'how far a job is now',
    listJobs: 'how far jobs are now',
    getDeliveryBody: 'bytes that never change',
  },
};
