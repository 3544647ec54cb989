import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/skills                                       tenant:read
POST   /tenant/{tenant_id}/skills                                       tenant:skills:write
GET    /tenant/{tenant_id}/skills/{skill_id}                            tenant:read
GET    /tenant/{tenant_id}/skills/{skill_id}/history                    tenant:read
GET    /tenant/{tenant_id}/skills/{skill_id}/diff                       tenant:read
PATCH  /tenant/{tenant_id}/skills/{skill_id}                            tenant:skills:write
DELETE /tenant/{tenant_id}/skills/{skill_id}                            tenant:skills:write
POST   /tenant/{tenant_id}/skills/import                                tenant:skills:write
POST   /tenant/{tenant_id}/agents/{agent_id}/skills/author              agent:read + runner only
GET    /tenant/{tenant_id}/agents/{agent_id}/skills                     agent:read
POST   /tenant/{tenant_id}/agents/{agent_id}/skills                     agent:skills:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/skills/{skill_id}          agent:skills:write
GET    /tenant/{tenant_id}/agents/{agent_id}/skills/{skill_id}/config   agent:skills:write
PATCH  /tenant/{tenant_id}/agents/{agent_id}/skills/{skill_id}/config   agent:skills:write
GET    /tenant/{tenant_id}/agents/{agent_id}/skills/{skill_id}/package  agent:read + runner only
GET    /tenant/{tenant_id}/agents/{agent_id}/skill-permissions          agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/skill-permissions          agent:skills:write
`,
  withoutAsOf: {
    listSkills: 'a list that is not among those of decisions.md; each of them has it',
    readSkillHistory: 'all times at once',
    diffSkill: 'two times of its own',
    getSkillPackage: 'bytes that never change',
  },
};
