import { findMentions } from '../../projections/autocomplete/mention.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { AGENT, ROW, TENANT } from '../fixtures/query-case.ts';

const queries: AreaCases['queries'] = {
  findMentions: {
    'that start with a text': { rows: 'page', run: (reads) => findMentions(reads, 'agent', 'name 7', { tenant_id: TENANT, limit: 5 }) },
    'that contain a text': { rows: 'tenant', run: (reads) => findMentions(reads, 'agent', 'ame 7', { tenant_id: TENANT, limit: 5 }) },
    'of cron jobs': {
      rows: 'page',
      run: (reads) => findMentions(reads, 'cron_job', 'name 7', { tenant_id: TENANT, limit: 5 }),
    },
    'of integrations': {
      rows: 'page',
      run: (reads) => findMentions(reads, 'integration', 'text 7', { tenant_id: TENANT, limit: 5 }),
    },
    'of some agents': {
      rows: 'tenant',
      run: (reads) => findMentions(reads, 'session', 'text', { tenant_id: TENANT, only: [AGENT], limit: 5 }),
    },
    'of few rows, which are looked up by their ids': {
      rows: 'page',
      run: (reads) => findMentions(reads, 'agent', 'name', { tenant_id: TENANT, only: [ROW], limit: 5 }),
    },
    'of files, in two tables': {
      rows: 'tenant',
      run: (reads) => findMentions(reads, 'file', 'text', { tenant_id: TENANT, only: [AGENT], limit: 5 }),
    },
    'with a visibility': {
      rows: 'tenant',
      run: (reads) => findMentions(reads, 'skill', 'name', { tenant_id: TENANT, visibility: 'public', limit: 5 }),
    },
  },
};

export const cases: AreaCases = { queries };
