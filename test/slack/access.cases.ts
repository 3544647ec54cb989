import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/agents/{agent_id}/slack-config               agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/slack-config               agent:settings:write
`,
};
