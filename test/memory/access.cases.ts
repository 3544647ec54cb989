import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
POST   /tenant/{tenant_id}/agents/{agent_id}/memory/import               agent:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/memory                     agent:read + runner
POST   /tenant/{tenant_id}/agents/{agent_id}/memory                     agent:settings:write + runner
POST   /tenant/{tenant_id}/agents/{agent_id}/memory/forget              agent:settings:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/memory/{entry_id}          agent:settings:write + runner
GET    /tenant/{tenant_id}/agents/{agent_id}/memory/{entry_id}          agent:read + runner
DELETE /tenant/{tenant_id}/agents/{agent_id}/memory/imports/{id}        agent:settings:write
`,
  withoutAsOf: {
    listMemory: 'a list that is not among those of decisions.md',
    getMemoryEntry: 'an entry never changes',
  },
};
