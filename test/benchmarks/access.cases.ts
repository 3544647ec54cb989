import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/benchmark-runs                               tenant:read
POST   /tenant/{tenant_id}/benchmark-runs                               agent:assign in body
GET    /benchmarks                                                      any
POST   /benchmarks                                                      platform
GET    /benchmarks/{slug}                                               any
PATCH  /benchmarks/{slug}                                               platform
DELETE /benchmarks/{slug}                                               platform
`,
  withoutAsOf: {
    listBenchmarkRuns: 'a list that is not among those of decisions.md',
  },
};
