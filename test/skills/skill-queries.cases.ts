import * as skill from '../../projections/skills/skill.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { newest, pages, ROW, single, TENANT } from '../fixtures/query-case.ts';

const queries: AreaCases['queries'] = {
  skillById: single((reads) => skill.skillById(reads, TENANT, ROW)),
  visibilityOf: single((reads) => skill.visibilityOf(reads, TENANT, ROW)),
  skillsWithPackage: { call: { rows: 'tenant', run: (reads) => skill.skillsWithPackage(reads, TENANT, 'text 7') } },
  skillPage: {
    ...pages((reads, window) => skill.skillPage(reads, { tenant_id: TENANT }, window)),
    'of a visibility': { rows: 'tenant', run: (reads) => skill.skillPage(reads, { tenant_id: TENANT, visibility: 'text 7' }, newest) },
  },
  skillCount: single((reads) => skill.skillCount(reads, TENANT)),
};

export const cases: AreaCases = { queries };
