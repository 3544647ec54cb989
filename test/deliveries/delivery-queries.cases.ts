import { agentsGiven } from '../../projections/agents/given-credential.queries.ts';
import { deliveryByProviderId } from '../../projections/deliveries/delivery.queries.ts';
import * as deliveryList from '../../projections/deliveries/delivery-list.queries.ts';
import { withDeliveryNames } from '../../projections/deliveries/delivery-names.queries.ts';
import { deliveryProblems, problemTrends } from '../../projections/deliveries/delivery-problems.queries.ts';
import type { SelectedDeliveries } from '../../projections/deliveries/delivery-selection.ts';
import { type AgentQueues, STATES } from '../../projections/deliveries/delivery-states.ts';
import * as summary from '../../projections/deliveries/delivery-summary.queries.ts';
import { hasHeldOver, heldDeliveries } from '../../projections/deliveries/held-delivery.queries.ts';
import * as heldGroups from '../../projections/deliveries/held-groups.queries.ts';
import * as openDeliveries from '../../projections/deliveries/open-deliveries.queries.ts';
import { replayableOfTenantIds } from '../../projections/deliveries/replay-job.queries.ts';
import { checkedCount, guardrailHits } from '../../projections/guardrails/guardrail-hits.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { AGENT, INTEGRATION, MIDDLE_TIME, type QueryCase, ROW, TENANT } from '../fixtures/query-case.ts';

/** What is known about the runners of some agents. */
export const QUEUES: AgentQueues = {
  at: MIDDLE_TIME,
  working: [{ agent_id: AGENT, before: '00000000000000050000' }],
  spent: [{ agent_id: 'a27', until: MIDDLE_TIME }],
};
/** Filters of the list of deliveries. Each can select many deliveries of a tenant. */
export const SELECTIONS: Readonly<Record<string, Omit<SelectedDeliveries, 'tenant_id'>>> = {
  ...Object.fromEntries(STATES.map((state) => [`in the state ${state}`, { state, queues: QUEUES }])),
  'blocked by a rule': { state: 'blocked', rule: 'text 0' },
  'with a problem': { state: 'dead', problem: 'text 0' },
  'without a report': { state: 'dead', problem: 'none' },
  'that failed': { failed: true },
  'given up since a time': { given_up_from: MIDDLE_TIME },
  'for a reason': { reason: 'text 0' },
  'of some agents': { agent_ids: [AGENT, 'a27', 'a47'] },
};
const PERIOD = { from: '2026-05-01T00:00:00.000Z', to: MIDDLE_TIME } as const;
const OF_AGENTS = { agent_ids: [AGENT, 'a27'] } as const;

const summarized = (...[filter, parts]: [object, Parameters<typeof summary.deliverySummary>[2]]): QueryCase => ({
  rows: 'tenant',
  run: (reads) => summary.deliverySummary(reads, { tenant_id: TENANT, ...filter }, parts),
});

const replayed = (filter: Omit<Parameters<typeof replayableOfTenantIds>[1], 'tenant_id'>): QueryCase => ({
  rows: 'tenant',
  run: (reads) => replayableOfTenantIds(reads, { tenant_id: TENANT, ...filter }, 5_001),
});

const queries: AreaCases['queries'] = {
  deliverySummary: {
    'of a tenant': summarized({}, {}),
    'of some agents, in buckets': summarized({ ...PERIOD, ...OF_AGENTS }, { buckets: 120 }),
    'of an integration': summarized({ integration_id: INTEGRATION, matched_secret: 'current', from: PERIOD.from }, {}),
    'by agent': summarized(PERIOD, { group_by: 'agent_id' }),
    'by integration': summarized(PERIOD, { group_by: 'integration_id' }),
    'by provider': summarized(PERIOD, { group_by: 'provider' }),
    'by event': summarized(PERIOD, { group_by: 'event' }),
    'by reason': summarized(PERIOD, { group_by: 'reason' }),
    'by secret': summarized(PERIOD, { group_by: 'matched_secret' }),
    'by state': summarized(PERIOD, { queues: QUEUES }),
    'in buckets that begin at the first delivery': summarized({ to: PERIOD.to }, { buckets: 48, is_fitted: true }),
  },
  replayableOfTenantIds: {
    'of a tenant': replayed({}),
    'of some agents, not published': replayed({ status: 'waiting', ...OF_AGENTS }),
    'blocked, to be released': replayed({ outcome: 'blocked', reason: 'text 0' }),
    'given up for a reason': replayed({ outcome: 'dead', reason: 'text 0', integration_id: INTEGRATION, ...PERIOD }),
  },
  withDeliveryNames: {
    'of some deliveries': {
      rows: 'page',
      run: (reads) => withDeliveryNames(reads, TENANT, [{ agent_id: AGENT, integration_id: INTEGRATION }]),
    },
  },
  deliveryByProviderId: { call: { rows: 'page', run: (reads) => deliveryByProviderId(reads, TENANT, 'text 0') } },
  hasHeldOver: { call: { rows: 'page', run: (reads) => hasHeldOver(reads)(TENANT, INTEGRATION) } },
  heldDeliveries: { call: { rows: 'page', run: (reads) => heldDeliveries(reads, { after: null, isDue: () => true }) } },
  heldByRules: {
    'of a tenant': { rows: 'tenant', run: (reads) => heldGroups.heldByRules(reads, { tenant_id: TENANT }) },
    'of some agents': {
      rows: 'tenant',
      run: (reads) => heldGroups.heldByRules(reads, { tenant_id: TENANT, agent_id: AGENT, ...OF_AGENTS }),
    },
  },
  heldBySpentBudgets: {
    'of a tenant': { rows: 'tenant', run: (reads) => heldGroups.heldBySpentBudgets(reads, { tenant_id: TENANT }, QUEUES) },
  },
  heldByRulesOfAllTenants: { call: { rows: 'platform', run: heldGroups.heldByRulesOfAllTenants } },
  openQueuesOfAllTenants: { call: { rows: 'platform', run: openDeliveries.openQueuesOfAllTenants } },
  openMessages: {
    'of some deliveries': { rows: 'page', run: (reads) => openDeliveries.openMessages(reads, TENANT, [ROW, 'r050027']) },
  },
  openAgents: {
    'of a tenant': { rows: 'tenant', run: (reads) => openDeliveries.openAgents(reads, { tenant_id: TENANT }) },
    'of some agents': {
      rows: 'tenant',
      run: (reads) => openDeliveries.openAgents(reads, { tenant_id: TENANT, agent_id: OF_AGENTS.agent_ids[0], ...OF_AGENTS }),
    },
  },
  agentsGiven: {
    'of some identities': {
      rows: 'tenant',
      run: (reads) => agentsGiven(reads, { tenant_id: TENANT, ids: [ROW], revisions: ['0'], ...OF_AGENTS }),
    },
  },
  lastFailures: {
    'of some deliveries': {
      rows: 'tenant',
      run: (reads) => deliveryList.lastFailures(reads, { tenant_id: TENANT, ids: [ROW] }, async () => null),
    },
  },
  problemTrends: { call: { rows: 'tenant', run: (reads) => problemTrends(reads, TENANT, MIDDLE_TIME) } },
  deliveryProblems: {
    'of a tenant': { rows: 'tenant', run: (reads) => deliveryProblems(reads, { tenant_id: TENANT }) },
    'of a period': { rows: 'tenant', run: (reads) => deliveryProblems(reads, { tenant_id: TENANT, ...PERIOD }) },
  },
  guardrailHits: {
    'of a tenant': { rows: 'tenant', run: (reads) => guardrailHits(reads, { tenant_id: TENANT, from: MIDDLE_TIME }) },
    'of an integration': {
      rows: 'tenant',
      run: (reads) => guardrailHits(reads, { tenant_id: TENANT, from: MIDDLE_TIME, integration_id: INTEGRATION }),
    },
  },
  checkedCount: {
    'of a tenant': { rows: 'tenant', run: (reads) => checkedCount(reads, { tenant_id: TENANT, from: MIDDLE_TIME }) },
    'of an integration': {
      rows: 'tenant',
      run: (reads) => checkedCount(reads, { tenant_id: TENANT, from: MIDDLE_TIME, integration_id: INTEGRATION }),
    },
  },
};

export const cases: AreaCases = { queries };
