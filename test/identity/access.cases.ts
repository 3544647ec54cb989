import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/api-keys                                     tenant:keys:write
POST   /tenant/{tenant_id}/api-keys                                     tenant:keys:write
PATCH  /tenant/{tenant_id}/api-keys/{id}                                tenant:keys:write
DELETE /tenant/{tenant_id}/api-keys/{id}                                tenant:keys:write
GET    /tenant/{tenant_id}/agents/{agent_id}/runner-keys                agent:settings:write
POST   /tenant/{tenant_id}/agents/{agent_id}/runner-keys                agent:settings:write & agent:skills:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/runner-keys/{id}           agent:settings:write
GET    /me                                                              any
GET    /me/sign-ins                                                     any but runners
DELETE /me/sign-ins                                                     any but runners
DELETE /me/sign-ins/{id}                                                any on own sign-in
`,
  withoutAsOf: {
    listApiKeys: 'a list that is not among those of decisions.md',
    listRunnerKeys: 'a list that is not among those of decisions.md',
  },
};
