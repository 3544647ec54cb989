import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/files/{digest}                               agent:chat:read + runner on session
PUT    /tenant/{tenant_id}/brand/favicon                                tenant:settings:write
PUT    /tenant/{tenant_id}/brand/logo                                   tenant:settings:write
POST   /tenant/{tenant_id}/files/scan                                   tenant:read
`,
  withoutAsOf: {
    getFile: 'bytes that never change',
  },
};
