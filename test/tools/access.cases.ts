import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/tools                                        tenant:read
POST   /tenant/{tenant_id}/tools                                        tenant:tools:write
GET    /tenant/{tenant_id}/tools/{tool_id}/history                      tenant:read
GET    /tenant/{tenant_id}/tools/{tool_id}/diff                         tenant:read
GET    /tenant/{tenant_id}/tools/{tool_id}                              tenant:read
PATCH  /tenant/{tenant_id}/tools/{tool_id}                              tenant:tools:write
DELETE /tenant/{tenant_id}/tools/{tool_id}                              tenant:tools:write
PUT    /tenant/{tenant_id}/connectors/{connector}/tools                 tenant:tools:write
GET    /tenant/{tenant_id}/agents/{agent_id}/tools                      agent:read
POST   /tenant/{tenant_id}/agents/{agent_id}/tools                      agent:tools:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/tools/{tool_id}            agent:tools:write
`,
  withoutAsOf: {
    listTools: 'a list that is not among those of decisions.md; each of them has it',
    readToolHistory: 'all times at once',
    diffTool: 'two times of its own',
  },
};
