import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/agents/{agent_id}/integrations               agent:read
GET    /tenant/{tenant_id}/webhook-integrations                         tenant:read
POST   /tenant/{tenant_id}/webhook-integrations                         tenant:integrations:write
GET    /tenant/{tenant_id}/webhook-integrations/{id}                    tenant:read
PATCH  /tenant/{tenant_id}/webhook-integrations/{id}                    tenant:integrations:write
DELETE /tenant/{tenant_id}/webhook-integrations/{id}                    tenant:integrations:write
POST   /tenant/{tenant_id}/webhook-integrations/{id}/rotate-secret      tenant:integrations:write
DELETE /tenant/{tenant_id}/webhook-integrations/{id}/previous-secret    tenant:integrations:write
`,
  withoutAsOf: {
    listWebhookIntegrations: 'a list that is not among those of decisions.md; each of them has it',
    listAgentIntegrations: 'a list that is not among those of decisions.md',
  },
};
