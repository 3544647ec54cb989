import { MAX_SORT_KEY, sortKey } from '../../domain/event.ts';
import { auditFacets } from '../../projections/audit/audit-facet.queries.ts';
import * as head from '../../projections/audit/audit-head.queries.ts';
import * as audit from '../../projections/audit/audit-log.queries.ts';
import { changesAfter } from '../../projections/audit/tenant-change.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { AGENT, byColumn, MIDDLE, MIDDLE_TIME, newest, next, pages, RESOURCE, ROW, single, TENANT } from '../fixtures/query-case.ts';

const PLACE = sortKey(MIDDLE);

const selected = (more: Partial<head.EntrySelection>): head.EntrySelection => ({
  tenant_id: TENANT,
  from: PLACE,
  to: MAX_SORT_KEY,
  type: undefined,
  request_id: undefined,
  ...more,
});

const queries: AreaCases['queries'] = {
  auditPage: {
    ...pages((reads, window) => audit.auditPage(reads, TENANT, {}, window)),
    'between two times': {
      rows: 'page',
      run: (reads) => audit.auditPage(reads, TENANT, { from: '2026-05-01T00:00:00.000Z', to: MIDDLE_TIME }, newest),
    },
    'by action': { rows: 'page', run: (reads) => audit.auditPage(reads, TENANT, { action: 'text 7' }, newest) },
    'by resource': { rows: 'page', run: (reads) => audit.auditPage(reads, TENANT, { resource_id: RESOURCE }, newest) },
    'by resource, next page': { rows: 'page', run: (reads) => audit.auditPage(reads, TENANT, { resource_id: RESOURCE }, next) },
    'by kind of resource': { rows: 'tenant', run: (reads) => audit.auditPage(reads, TENANT, { resource_type: 'text 7' }, newest) },
    'by agent': { rows: 'page', run: (reads) => audit.auditPage(reads, TENANT, { agent_id: AGENT }, newest) },
    'about a user': { rows: 'page', run: (reads) => audit.auditPage(reads, TENANT, { about_user: 'text 7' }, newest) },
    'about an agent': { rows: 'page', run: (reads) => audit.auditPage(reads, TENANT, { about_agent: AGENT }, newest) },
    'about a resource': { rows: 'tenant', run: (reads) => audit.auditPage(reads, TENANT, { about_resource: RESOURCE }, newest) },
    'about a delivery': {
      rows: 'tenant',
      run: (reads) => audit.auditPage(reads, TENANT, { about_resource: RESOURCE, about_events: [ROW] }, newest),
    },
    'by people': { rows: 'page', run: (reads) => audit.auditPage(reads, TENANT, { by: 'people' }, newest) },
    'by runners': { rows: 'tenant', run: (reads) => audit.auditPage(reads, TENANT, { by: 'runners' }, newest) },
    'by the platform': { rows: 'tenant', run: (reads) => audit.auditPage(reads, TENANT, { by: 'platform' }, newest) },
    'of some actions': { rows: 'tenant', run: (reads) => audit.auditPage(reads, TENANT, { one_of: ['text 7', 'text 8'] }, newest) },
    'by key': { rows: 'page', run: (reads) => audit.auditPage(reads, TENANT, { key_id: 'text 7' }, newest) },
    'by key, next page': { rows: 'page', run: (reads) => audit.auditPage(reads, TENANT, { key_id: 'text 7' }, next) },
    'by user': { rows: 'page', run: (reads) => audit.auditPage(reads, TENANT, { user_id: 'text 6' }, newest) },
    'by actor': { rows: 'page', run: (reads) => audit.auditPage(reads, TENANT, { actor: 'text 7' }, newest) },
    'by the start of the action': { rows: 'tenant', run: (reads) => audit.auditPage(reads, TENANT, { action: 'text.*' }, newest) },
    'by user and key': { rows: 'tenant', run: (reads) => audit.auditPage(reads, TENANT, { user_id: 'text 7', key_id: 'text 7' }, newest) },
    'by every other filter': {
      rows: 'tenant',
      run: (reads) =>
        audit.auditPage(reads, TENANT, { actor: 'text 7', resource_type: 'text 7', resource_id: RESOURCE, agent_id: AGENT }, newest),
    },
    platform: { rows: 'page', run: (reads) => audit.auditPage(reads, null, {}, next) },
  },
  hiddenCount: {
    'but people': { rows: 'tenant', run: (reads) => audit.hiddenCount(reads, TENANT, { by: 'people' }) },
    'but runners': { rows: 'tenant', run: (reads) => audit.hiddenCount(reads, TENANT, { by: 'runners', from: MIDDLE_TIME }) },
    'but the platform': { rows: 'tenant', run: (reads) => audit.hiddenCount(reads, TENANT, { by: 'platform', to: MIDDLE_TIME }) },
  },
  auditFacets: { call: { rows: 'tenant', run: (reads) => auditFacets(reads, TENANT) } },
  headPage: {
    'first page': { rows: 'page', run: (reads) => head.headPage(reads, TENANT, 2, byColumn('size')) },
    'next page': { rows: 'page', run: (reads) => head.headPage(reads, TENANT, 2, byColumn('size', true, 500_007)) },
    ascending: { rows: 'page', run: (reads) => head.headPage(reads, TENANT, 2, byColumn('size', false)) },
  },
  headCovering: single((reads) => head.headCovering(reads, TENANT, PLACE)),
  headsToAnchor: single((reads) => head.headsToAnchor(reads)),
  newestHead: single((reads) => head.newestHead(reads, TENANT)),
  changesAfter: { call: { rows: 'tenant', run: (reads) => changesAfter(reads, TENANT, MIDDLE) } },
  leavesBetween: { call: { rows: 'tenant', run: (reads) => head.leavesBetween(reads, TENANT, PLACE, MAX_SORT_KEY) } },
  tenantsWithUnsignedEntries: { call: { rows: 'tenant', run: (reads) => head.tenantsWithUnsignedEntries(reads, MIDDLE_TIME) } },
  positionsOf: {
    'of any type': { rows: 'page', run: (reads) => head.positionsOf(reads, selected({}), 51) },
    'of a type': { rows: 'tenant', run: (reads) => head.positionsOf(reads, selected({ type: 'AgentUpdated' }), 51) },
    'of a request': { rows: 'tenant', run: (reads) => head.positionsOf(reads, selected({ request_id: 'text 7' }), 51) },
    'of a category': { rows: 'tenant', run: (reads) => head.positionsOf(reads, selected({ category: 'text 7' }), 51) },
    'newest first': { rows: 'page', run: (reads) => head.positionsOf(reads, selected({ from: '', to: PLACE }), 51, 'newest') },
  },
  placeAtTime: {
    'first after a time': { rows: 'page', run: (reads) => head.placeAtTime(reads, TENANT, MIDDLE_TIME, 'oldest') },
    'last before a time': { rows: 'page', run: (reads) => head.placeAtTime(reads, TENANT, MIDDLE_TIME, 'newest') },
  },
  effectsOf: single((reads) => head.effectsOf(reads, TENANT, 'text 7')),
};

export const cases: AreaCases = { queries };
