import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/runners                                      tenant:read
GET    /tenant/{tenant_id}/agents/{agent_id}/runner-credentials         agent:settings:write + runner
POST   /tenant/{tenant_id}/agents/{agent_id}/runner-credentials         agent:settings:write + runner
DELETE /tenant/{tenant_id}/agents/{agent_id}/runner-credentials/{id}    agent:settings:write
POST   /tenant/{tenant_id}/deliveries/{delivery_id}/attempts            any + runner only on session
GET    /tenant/{tenant_id}/agents/{agent_id}/runner                     agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/runtime                    agent:read + runner only
`,
  withoutAsOf: {
    listRunnerCredentials: 'a list that is not among those of decisions.md',
    getRunnerPresence: 'what the message broker says now',
    listRunners: 'what the message broker says now',
    getAgentRuntime: 'what the runner needs now',
  },
};
