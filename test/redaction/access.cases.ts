import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/redaction-patterns                           tenant:read
PUT    /tenant/{tenant_id}/redaction-patterns                           tenant:settings:write
POST   /tenant/{tenant_id}/redaction-patterns/test                      tenant:settings:write
`,
};
