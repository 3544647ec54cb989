import { sortKey } from '../../domain/event.ts';
import * as agent from '../../projections/agents/agent.queries.ts';
import * as agentAccess from '../../projections/agents/agent-access.queries.ts';
import * as agentActivity from '../../projections/agents/agent-activity.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { AGENT, byColumn, MIDDLE, newest, next, pages, ROW, single, TENANT, USER } from '../fixtures/query-case.ts';

const all = { all: true } as const;
const favorites = { [ROW]: TENANT };
const visible = { all: false, user_id: USER, roles: ['OWNER', 'MANAGER'], since: sortKey({ commit: 0n, prepare: 0n }) } as const;
const FROM = '2026-05-30T00:00:00.000Z';
const ranks = new Map([[ROW, 3]]);

const queries: AreaCases['queries'] = {
  agentById: single((reads) => agent.agentById(reads, TENANT, ROW)),
  agentPage: {
    ...pages((reads, window) => agent.agentPage(reads, TENANT, { visibility: all }, window)),
    'by name': { rows: 'page', run: (reads) => agent.agentPage(reads, TENANT, { visibility: all }, byColumn('name', false, 'text 3')) },
    'by kind': { rows: 'tenant', run: (reads) => agent.agentPage(reads, TENANT, { visibility: all }, byColumn('kind', true, null)) },
    'visible to a member': { rows: 'tenant', run: (reads) => agent.agentPage(reads, TENANT, { visibility: visible }, next) },
    'active ones of a kind': {
      rows: 'page',
      run: (reads) => agent.agentPage(reads, TENANT, { visibility: all, is_active: true, kind: 'platform' }, newest),
    },
    'with a part of the name': { rows: 'page', run: (reads) => agent.agentPage(reads, TENANT, { visibility: all, q: 'r050007' }, newest) },
    deleted: { rows: 'tenant', run: (reads) => agent.agentPage(reads, TENANT, { visibility: all, deleted: true }, newest) },
    'sorted by numbers that no column has': {
      rows: 'tenant',
      run: (reads) => agent.agentPage(reads, TENANT, { visibility: all, ranks }, byColumn('rank', true, 2)),
    },
    'with a skill': { rows: 'page', run: (reads) => agent.agentPage(reads, TENANT, { visibility: all, item_id: ROW }, newest) },
    favorites: { rows: 'page', run: (reads) => agent.agentPage(reads, TENANT, { visibility: all, favorites, favorite: true }, newest) },
    'all but favorites': {
      rows: 'page',
      run: (reads) => agent.agentPage(reads, TENANT, { visibility: all, favorites, favorite: false }, newest),
    },
  },
  grantCounts: {
    all: { rows: 'tenant', run: (reads) => agent.grantCounts(reads, TENANT, { visibility: all, item_ids: [ROW] }) },
    'visible ones': { rows: 'tenant', run: (reads) => agent.grantCounts(reads, TENANT, { visibility: visible, item_ids: [ROW] }) },
  },
  agentCount: single((reads) => agent.agentCount(reads, TENANT)),
  adminOnlyAgents: { call: { rows: 'tenant', run: (reads) => agent.adminOnlyAgents(reads, TENANT) } },
  agentsOpenTo: single((reads) =>
    agentAccess.agentsOpenTo(reads, { tenant_id: TENANT, user_id: USER, roles: ['OWNER', 'MANAGER'], since: '0' }),
  ),
  agentsGivenTo: single((reads) => agentAccess.agentsGivenTo(reads, TENANT, USER)),
  agentCountsOf: single((reads) => agentAccess.agentCountsOf(reads, { tenant_id: TENANT, user_ids: [USER], since: ['0'] })),
  primaryModelsOf: single((reads) => agent.primaryModelsOf(reads, TENANT, [AGENT, 'a27'])),
  agentsOwnedBy: single((reads) => agentAccess.agentsOwnedBy(reads, TENANT, USER)),
  allAgents: { call: { rows: 'tenant', run: (reads) => agent.allAgents(reads).next() } },
  // For a page of a past state, the query reads all agents of the tenant, because it must skip those that were created
  // or deleted after that time.
  agentIdsAsOf: pages((reads, window) => agent.agentIdsAsOf(reads, TENANT, MIDDLE, window), 'tenant'),
  agentCounts: {
    all: { rows: 'tenant', run: (reads) => agent.agentCounts(reads, TENANT, { visibility: all }) },
    'visible ones': { rows: 'tenant', run: (reads) => agent.agentCounts(reads, TENANT, { visibility: visible, ids: [AGENT] }) },
  },
  givenUpByAgent: {
    call: { rows: 'tenant', run: (reads) => agentActivity.givenUpByAgent(reads, { tenant_id: TENANT, given_up_from: FROM }) },
  },
  receivedByAgent: { call: { rows: 'tenant', run: (reads) => agentActivity.receivedByAgent(reads, { tenant_id: TENANT, from: FROM }) } },
  queueByAgent: { call: { rows: 'tenant', run: (reads) => agentActivity.queueByAgent(reads, TENANT) } },
  hoursByAgent: {
    call: { rows: 'tenant', run: (reads) => agentActivity.hoursByAgent(reads, { tenant_id: TENANT, from: FROM, agent_ids: [AGENT] }) },
  },
};

export const cases: AreaCases = { queries };
