import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/webhook-integrations/{id}/guardrails         tenant:integrations:read
PUT    /tenant/{tenant_id}/webhook-integrations/{id}/guardrails         tenant:integrations:write
GET    /tenant/{tenant_id}/guardrails                                   tenant:integrations:read
PUT    /tenant/{tenant_id}/guardrails                                   tenant:integrations:write
GET    /tenant/{tenant_id}/guardrails/summary                           tenant:integrations:read
POST   /tenant/{tenant_id}/guardrails/try                               tenant:integrations:read
`,
  withoutAsOf: {
    summarizeGuardrails: 'the last hours until now',
  },
};
