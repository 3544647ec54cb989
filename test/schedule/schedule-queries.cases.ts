import * as blackout from '../../projections/schedule/blackout.queries.ts';
import * as cronJob from '../../projections/schedule/cron-job.queries.ts';
import * as occurrence from '../../projections/schedule/cron-occurrence.queries.ts';
import * as summary from '../../projections/schedule/cron-summary.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { AGENT, MIDDLE, MIDDLE_TIME, newest, pages, ROW, single, TENANT } from '../fixtures/query-case.ts';

const period = { tenant_id: TENANT, from: '2026-05-01T00:00:00.000Z', to: '2026-06-01T00:00:00.000Z' };

const queries: AreaCases['queries'] = {
  blackoutById: single((reads) => blackout.blackoutById(reads, TENANT, ROW)),
  blackoutPage: {
    ...pages((reads, window) => blackout.blackoutPage(reads, { tenant_id: TENANT }, window)),
    'of some agents': {
      rows: 'tenant',
      run: (reads) => blackout.blackoutPage(reads, { tenant_id: TENANT, agent_ids: [AGENT] }, newest),
    },
  },
  blackoutAgentsOf: { call: { rows: 'tenant', run: (reads) => blackout.blackoutAgentsOf(reads, TENANT) } },
  blackoutCount: single((reads) => blackout.blackoutCount(reads, TENANT)),
  blackoutsOf: { call: { rows: 'tenant', run: (reads) => blackout.blackoutsOf(reads, TENANT) } },
  cronJobById: single((reads) => cronJob.cronJobById(reads, TENANT, ROW)),
  cronJobPage: pages((reads, window) => cronJob.cronJobPage(reads, { tenant_id: TENANT, agent_id: AGENT }, window)),
  cronJobCount: single((reads) => cronJob.cronJobCount(reads, TENANT)),
  cronRunPage: pages((reads, window) => cronJob.cronRunPage(reads, { tenant_id: TENANT, job_id: ROW }, window)),
  cronJobRow: single((reads) => cronJob.cronJobRow(reads, TENANT, ROW)),
  lastDecisionUntil: single((reads) => cronJob.lastDecisionUntil(reads, { tenant_id: TENANT, job_id: ROW }, MIDDLE)),
  jobsDueAt: single((reads) => cronJob.jobsDueAt(reads, '2026-01-02T00:00:00.000Z')),
  messagesDueAt: single((reads) => cronJob.messagesDueAt(reads, '2026-01-02T00:00:00.000Z')),
  callsDueAt: {
    'of all tenants': { rows: 'tenant', run: (reads) => cronJob.callsDueAt(reads, '2026-01-02T00:00:00.000Z', []) },
    'but some': { rows: 'tenant', run: (reads) => cronJob.callsDueAt(reads, '2026-01-02T00:00:00.000Z', [TENANT]) },
  },
  settledRunsOf: { call: { rows: 'tenant', run: (reads) => cronJob.settledRunsOf(reads) } },
  jobsWithOpenRun: single((reads) => cronJob.jobsWithOpenRun(reads, [ROW, 'r050008'])),
  activeJobsOf: {
    'of an agent': { rows: 'tenant', run: (reads) => cronJob.activeJobsOf(reads, TENANT, [AGENT]) },
    'of the tenant': { rows: 'tenant', run: (reads) => cronJob.activeJobsOf(reads, TENANT) },
    'that are due in a period': { rows: 'tenant', run: (reads) => cronJob.activeJobsOf(reads, TENANT, [AGENT], period.to) },
  },
  recordedOccurrences: {
    'of the tenant': { rows: 'tenant', run: (reads) => occurrence.recordedOccurrences(reads, period, null) },
    'of an agent, next page': {
      rows: 'tenant',
      run: (reads) =>
        occurrence.recordedOccurrences(reads, { ...period, agent_ids: [AGENT], decision: 'missed' }, ['2026-05-02T00:00:00.000Z', ROW]),
    },
  },
  decidedAheadOf: {
    call: { rows: 'tenant', run: (reads) => occurrence.decidedAheadOf(reads, period, [{ id: ROW, next_fire_at: period.from }]) },
  },
  decidedOf: single((reads) => occurrence.decidedOf(reads, TENANT, ROW, period.from)),
  jobsWithOccurrences: {
    'of the tenant': { rows: 'tenant', run: (reads) => summary.jobsWithOccurrences(reads, { ...period, planned_before: period.to }, null) },
    'a job of an agent, next page': {
      rows: 'tenant',
      run: (reads) =>
        summary.jobsWithOccurrences(reads, { ...period, agent_ids: [AGENT], job_id: ROW, decision: 'skipped', planned_before: undefined }, [
          'a',
          ROW,
        ]),
    },
  },
  recordedCounts: {
    'of some jobs': {
      rows: 'tenant',
      run: (reads) =>
        summary.recordedCounts(
          reads,
          { ...period, days: [period.from, MIDDLE_TIME] },
          {
            jobs: [
              { id: ROW, next_fire_at: MIDDLE_TIME },
              { id: 'r050008', next_fire_at: null },
            ],
            recorded: summary.MAX_COUNTED,
            ahead: occurrence.MAX_OCCURRENCES,
          },
        ),
    },
  },
};

export const cases: AreaCases = { queries };
