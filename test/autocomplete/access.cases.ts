import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/autocomplete                                 tenant:read
`,
  withoutAsOf: {
    autocomplete: 'names as people type them',
  },
};
