import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/agents/{agent_id}/credential-requests        agent:read
POST   /tenant/{tenant_id}/agents/{agent_id}/credential-requests        agent:read + runner only
GET    /tenant/{tenant_id}/agents/{agent_id}/credentials                agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/credentials/{identity_id}  agent:settings:write & tenant:credentials:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/credentials/{identity_id}  agent:settings:write & tenant:credentials:write
POST   /tenant/{tenant_id}/credentials                                  agent:skills:write in body
POST   /tenant/{tenant_id}/database-credentials                         tenant:credentials:write
GET    /tenant/{tenant_id}/linked-identities                            tenant:read
DELETE /tenant/{tenant_id}/linked-identities/{id}                       tenant:credentials:write
POST   /tenant/{tenant_id}/integrations/{provider}/connect              tenant:credentials:write
POST   /tenant/{tenant_id}/agents/{agent_id}/integrations/{provider}/connect  agent:settings:write
`,
  withoutAsOf: {
    listCredentialRequests: 'a list that is not among those of decisions.md',
    listLinkedIdentities: 'a list that is not among those of decisions.md',
  },
};
