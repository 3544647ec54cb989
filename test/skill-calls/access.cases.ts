import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/skills/{skill_id}/webhook                    tenant:skills:write
PUT    /tenant/{tenant_id}/skills/{skill_id}/webhook                    tenant:skills:write
DELETE /tenant/{tenant_id}/skills/{skill_id}/webhook                    tenant:skills:write
POST   /tenant/{tenant_id}/skills/{skill_id}/webhook/rotate-token       tenant:skills:write
GET    /tenant/{tenant_id}/skills/{skill_id}/invocations                tenant:read
`,
  withoutAsOf: {
    listSkillInvocations: 'a list of calls, which are in the past',
  },
};
