import { sortKey } from '../../domain/event.ts';
import type { Reads } from '../../projections/read-model.ts';
import * as approval from '../../projections/sessions/approval.queries.ts';
import * as attachment from '../../projections/sessions/attachment.queries.ts';
import * as session from '../../projections/sessions/session.queries.ts';
import * as settledMessage from '../../projections/sessions/settled-message.queries.ts';
import * as unsettledMessage from '../../projections/sessions/unsettled-message.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { AGENT, MIDDLE_TIME, newest, pages, type QueryCase, single, TENANT } from '../fixtures/query-case.ts';

type ApprovalFilter = Partial<Parameters<typeof approval.approvalPage>[1]>;

const approvals = (filter: ApprovalFilter): QueryCase => ({
  rows: 'page',
  run: (reads) =>
    approval.approvalPage(reads, { tenant_id: TENANT, agent_ids: undefined, agent_id: undefined, status: undefined, ...filter }, newest),
});

const UNSETTLED = { through: sortKey({ commit: 2_007n, prepare: 2_007n }), since: '2026-01-01T00:00:00.000Z' };

const queries: AreaCases['queries'] = {
  sessionsOnPage: {
    'first page': { rows: 'page', run: (reads) => session.sessionsOnPage(reads, TENANT, {}, { page: 1, per_page: 50 }) },
    'third page': { rows: 'page', run: (reads) => session.sessionsOnPage(reads, TENANT, {}, { page: 3, per_page: 50 }) },
    ...Object.fromEntries(
      [
        { agent_id: AGENT },
        { agent_ids: [AGENT], status: 'text 7' },
        { status: 'text 7' },
        { user_id: 'text 7' },
        { from: '2026-05-01T00:00:00.000Z', to: MIDDLE_TIME },
      ].map((filter) => [
        `by ${Object.keys(filter).join(' and ')}`,
        { rows: 'page', run: (reads: Reads) => session.sessionsOnPage(reads, TENANT, filter, { page: 1, per_page: 50 }) },
      ]),
    ),
  },
  tenantSessionPage: {
    ...pages((reads, window) => session.tenantSessionPage(reads, { tenant_id: TENANT, agent_ids: undefined }, window)),
    'of some agents': {
      rows: 'tenant',
      run: (reads) => session.tenantSessionPage(reads, { tenant_id: TENANT, agent_ids: [AGENT, 'text 7'], status: 'text 7' }, newest),
    },
    'of an agent and a user': {
      rows: 'page',
      run: (reads) =>
        session.tenantSessionPage(reads, { tenant_id: TENANT, agent_ids: undefined, agent_id: AGENT, user_id: 'text 7' }, newest),
    },
    'in a time': {
      rows: 'page',
      run: (reads) =>
        session.tenantSessionPage(
          reads,
          { tenant_id: TENANT, agent_ids: undefined, from: '2026-05-01T00:00:00.000Z', to: MIDDLE_TIME },
          newest,
        ),
    },
  },
  filesWithDigest: {
    call: { rows: 'tenant', run: (reads) => attachment.filesWithDigest(reads, { tenant_id: TENANT, sha256: 'text 7' }) },
    'of one agent': {
      rows: 'tenant',
      run: (reads) => attachment.filesWithDigest(reads, { tenant_id: TENANT, sha256: 'text 7', agent_id: AGENT }),
    },
  },
  settledAmong: single((reads) =>
    settledMessage.settledAmong(reads, { tenant_id: TENANT, agent_id: AGENT, event_ids: ['r050007', 'r050008'] }),
  ),
  unsettledSessionCounts: single((reads) => unsettledMessage.unsettledSessionCounts(reads, UNSETTLED), 'platform'),
  unsettledSessionMessages: single((reads) =>
    unsettledMessage.unsettledSessionMessages(reads, { ...UNSETTLED, tenant_id: TENANT, agent_id: AGENT }).next(),
  ),
  sessionsOfDelivery: single((reads) => session.sessionsOfDelivery(reads, TENANT, 'r050007')),
  sessionCountsSince: { call: { rows: 'tenant', run: (reads) => session.sessionCountsSince(reads, TENANT, MIDDLE_TIME) } },
  approvalPage: {
    'all of the tenant': approvals({}),
    'by status': approvals({ status: 'text 7' }),
    'by agent': approvals({ agent_id: AGENT }),
    'by agent and status': approvals({ agent_id: AGENT, status: 'text 7' }),
    'of some agents, by status': approvals({ agent_ids: [AGENT, 'text 7'], status: 'text 7' }),
  },
  approvalsDueAt: { call: { rows: 'page', run: (reads) => approval.approvalsDueAt(reads, MIDDLE_TIME) } },
  sessionsDueAt: { call: { rows: 'page', run: (reads) => session.sessionsDueAt(reads, MIDDLE_TIME) } },
  countSessions: Object.fromEntries(
    [
      { agent_id: AGENT },
      { agent_ids: [AGENT], status: 'text 7' },
      { status: 'text 7' },
      { user_id: 'text 7' },
      { from: '2026-05-01T00:00:00.000Z', to: MIDDLE_TIME },
    ].map((filter) => [
      `by ${Object.keys(filter).join(' and ')}`,
      { rows: 'tenant', run: (reads: Reads) => session.countSessions(reads, TENANT, filter) },
    ]),
  ),
};

export const cases: AreaCases = { queries };
