import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
POST   /tenant/{tenant_id}/marketplace/listings                         tenant:marketplace:write
POST   /tenant/{tenant_id}/marketplace/listings/{id}/versions           tenant:marketplace:write
POST   /tenant/{tenant_id}/marketplace/listings/{id}/versions/{version}/yank tenant:marketplace:write
POST   /tenant/{tenant_id}/marketplace/install                          tenant:skills:write
GET    /marketplace                                                     any
GET    /marketplace/{slug}                                              any
`,
};
