import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/agents                                       tenant:read
POST   /tenant/{tenant_id}/agents                                       tenant:agents:create
GET    /tenant/{tenant_id}/agents/activity                              tenant:read
GET    /tenant/{tenant_id}/agents/grants                                tenant:read
GET    /tenant/{tenant_id}/agents/{agent_id}                            agent:read + runner
PATCH  /tenant/{tenant_id}/agents/{agent_id}                            agent:settings:write
DELETE /tenant/{tenant_id}/agents/{agent_id}                            agent:delete
POST   /tenant/{tenant_id}/agents/{agent_id}/restore                    agent:delete
GET    /tenant/{tenant_id}/agents/{agent_id}/history                    agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/diff                       agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/can-author-skills          agent:roles:write
PUT    /tenant/{tenant_id}/agents/{agent_id}/skill-visibility-scope     agent:skills:write
PUT    /tenant/{tenant_id}/agents/{agent_id}/repo                       agent:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/repo-refs                  agent:read
PATCH  /tenant/{tenant_id}/agents/{agent_id}/code-ref                   agent:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/budget                     agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/budget                     agent:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/models                     agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/models                     agent:settings:write
PUT    /tenant/{tenant_id}/agents/{agent_id}/favorite                   agent:read
DELETE /tenant/{tenant_id}/agents/{agent_id}/favorite                   agent:read
POST   /tenant/{tenant_id}/agents/{agent_id}/transfer-ownership         agent:ownership:transfer
GET    /tenant/{tenant_id}/agents/{agent_id}/roles                      agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/roles/{user_id}            agent:roles:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/roles/{user_id}            agent:roles:write
GET    /tenant/{tenant_id}/agents/{agent_id}/grants                     agent:read
POST   /tenant/{tenant_id}/agents/{agent_id}/grants                     agent:roles:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/grants/{user_id}           agent:roles:write
PUT    /tenant/{tenant_id}/agent-grants                                 agent:roles:write in body
GET    /tenant/{tenant_id}/agent-role-permissions                       tenant:read
PUT    /tenant/{tenant_id}/agent-role-permissions                       tenant:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/effective-permissions      agent:read
GET    /tenant/{tenant_id}/effective-permissions                        tenant:audit:read
POST   /tenant/{tenant_id}/effective-permissions/preview                tenant:read
GET    /tenant/{tenant_id}/models                                       tenant:read
POST   /tenant/{tenant_id}/models/{model_id}/agents                     agent:settings:write in body
DELETE /tenant/{tenant_id}/models/{model_id}/agents/{agent_id}          agent:settings:write
POST   /agents/{source_id}/clone                                        agent:read & tenant:agents:create in a tenant of the caller
GET    /v1/assistants                                                   any but runners
GET    /tenant/{tenant_id}/budgets                                      tenant:read
`,
  withoutAsOf: {
    listAgentActivity: 'sums over a period',
    countGrants: 'counts of what exists now',
    listBudgets: 'sums over a period',
    listAgentRepoRefs: 'what another host says now',
    listModels: 'the platform’s models, which belong to no tenant',
    readAgentHistory: 'all times at once',
    diffAgent: 'two times of its own',
  },
};
