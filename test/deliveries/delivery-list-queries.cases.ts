import { sortKey } from '../../domain/event.ts';
import type { SortValue } from '../../projections/cursor.ts';
import * as delivery from '../../projections/deliveries/delivery.queries.ts';
import * as deliveryList from '../../projections/deliveries/delivery-list.queries.ts';
import type { DeliveryFilter, SelectedDeliveries } from '../../projections/deliveries/delivery-selection.ts';
import * as replay from '../../projections/deliveries/replay-job.queries.ts';
import * as runnerQueue from '../../projections/deliveries/runner-queue.queries.ts';
import * as unsettled from '../../projections/deliveries/unsettled.queries.ts';
import type { PageWindow } from '../../projections/read-model.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import type { QueryCase } from '../fixtures/query-case.ts';
import { AGENT, byColumn, INTEGRATION, MIDDLE, MIDDLE_TIME, ROW, single, TENANT } from '../fixtures/query-case.ts';
import { QUEUES, SELECTIONS } from './delivery-queries.cases.ts';

const hook = { tenant_id: TENANT, integration_id: INTEGRATION, marksReplays: false };
export const receivedAt = (descending = true, cursor?: SortValue) => byColumn('received_at', descending, cursor);
const listed = { id: ROW, sha256: 'text 7', received_at: MIDDLE_TIME } as Parameters<typeof delivery.withReplayMark>[2];
/**
 * A delivery with the status waiting. `place` is the sort key of the position of the event that started its message. An
 * empty one sorts before the place of every publication, so the queries treat the message as published.
 */
const WAITING = {
  doc: '{"status":"waiting","place":"","attempts":[],"failures":[],"reports":[],"causation":[],"requeues":[]}',
  revision: 0,
};
export const deliveryPage =
  (filter: Omit<SelectedDeliveries, 'tenant_id'>, window: PageWindow): QueryCase['run'] =>
  (reads) =>
    deliveryList.deliveryPage(reads, { ...filter, tenant_id: TENANT }, () => true, window, { openTexts: async () => null });
export const FILTERS = {
  ...{ integration_id: INTEGRATION, agent_id: AGENT, provider: 'text 0', event: 'text 0', outcome: 'dead' },
  ...{ from: '2026-05-01T00:00:00Z', to: MIDDLE_TIME },
} as const satisfies DeliveryFilter;
const REPLAYED = {
  ...{ tenant_id: TENANT, integration_id: INTEGRATION, from: FILTERS.from, to: MIDDLE_TIME },
  ...{ outcome: undefined, event: undefined, ids: undefined, limit: 50 },
};
const OF_HOOK = { integration_id: INTEGRATION };
const OF_AGENT = { tenant_id: TENANT, agent_id: AGENT };
/** A sort key shortly before the end of the test data: only about 100 messages have a greater one. */
const LAST_PLACES = sortKey({ commit: 999_000n, prepare: 999_000n });
/** Selects only the first 200 messages, because the queries read all unsettled messages. */
const UNSETTLED = { through: sortKey({ commit: 2_007n, prepare: 2_007n }), since: '2026-01-01T00:00:00.000Z' };

const queries: AreaCases['queries'] = {
  messagesAfter: single((reads) => runnerQueue.messagesAfter(reads, OF_AGENT, LAST_PLACES)),
  firstMessageAt: single((reads) => runnerQueue.firstMessageAt(reads, OF_AGENT, LAST_PLACES)),
  lastAcknowledgedAt: single((reads) => runnerQueue.lastAcknowledgedAt(reads, OF_AGENT)),
  publishedThroughAt: single((reads) => unsettled.publishedThroughAt(reads, '2027-01-01T00:00:00.000Z')),
  unsettledCounts: single((reads) => unsettled.unsettledCounts(reads, UNSETTLED), 'platform'),
  unsettledMessages: single((reads) => unsettled.unsettledMessages(reads, { ...UNSETTLED, tenant_id: TENANT, agent_id: AGENT }).next()),
  deliveryById: single((reads) => delivery.deliveryById(reads, TENANT, ROW)),
  deliveryOf: {
    published: { rows: 'page', run: (reads) => delivery.deliveryOf(reads, WAITING) },
    'as of a position': { rows: 'page', run: (reads) => delivery.deliveryOf(reads, WAITING, MIDDLE) },
  },
  deliveryPage: {
    'of an integration, first page': { rows: 'page', run: deliveryPage(OF_HOOK, receivedAt()) },
    'of an integration, next page': { rows: 'page', run: deliveryPage(OF_HOOK, receivedAt(true, MIDDLE_TIME)) },
    'of an integration, ascending, next page': { rows: 'page', run: deliveryPage(OF_HOOK, receivedAt(false, MIDDLE_TIME)) },
    'first page': { rows: 'page', run: deliveryPage({}, receivedAt()) },
    'ascending, next page': { rows: 'page', run: deliveryPage({}, receivedAt(false, MIDDLE_TIME)) },
    ...Object.fromEntries(
      Object.entries(FILTERS).map(([name, value]) => [
        `with ${name}`,
        { rows: 'page', run: deliveryPage({ [name]: value }, receivedAt()) },
      ]),
    ),
    'with every filter': { rows: 'page', run: deliveryPage(FILTERS, receivedAt()) },
    ...Object.fromEntries(
      (['waiting', 'queued', 'running', 'held', 'done', 'dead'] as const).flatMap((status) => [
        [status, { rows: 'tenant', run: deliveryPage({ status, queues: QUEUES }, receivedAt()) }],
        [`of an integration, ${status}`, { rows: 'tenant', run: deliveryPage({ ...OF_HOOK, status, queues: QUEUES }, receivedAt()) }],
      ]),
    ),
    ...Object.fromEntries(
      Object.entries(SELECTIONS).map(([name, filter]) => [name, { rows: 'tenant', run: deliveryPage(filter, receivedAt()) }]),
    ),
    'held by a rule alone': { rows: 'page', run: deliveryPage({ status: 'held', queues: { ...QUEUES, spent: [] } }, receivedAt()) },
    'with a delivery id of the provider': { rows: 'page', run: deliveryPage({ provider_delivery_id: 'text 0' }, receivedAt()) },
    'of an integration, signed with the previous secret': {
      rows: 'tenant',
      run: deliveryPage({ ...OF_HOOK, matched_secret: 'previous' }, receivedAt()),
    },
  },
  jobById: single((reads) => replay.jobById(reads, TENANT, ROW)),
  runningJobs: { call: { rows: 'page', run: (reads) => replay.runningJobs(reads, MIDDLE_TIME) } },
  knownDeliveries: single((reads) => replay.knownDeliveries(reads, { tenant_id: TENANT, integration_id: INTEGRATION, ids: [ROW] })),
  replayableIds: {
    'of an integration': { rows: 'tenant', run: (reads) => replay.replayableIds(reads, REPLAYED) },
    'with every filter': {
      rows: 'tenant',
      run: (reads) => replay.replayableIds(reads, { ...REPLAYED, outcome: 'dead', event: 'text 0', ids: [ROW, 'r050027'] }),
    },
  },
  deliveryMarks: single((reads) => deliveryList.deliveryMarks(reads, TENANT, [ROW, 'r050027'])),
  withReplayMark: single((reads) => delivery.withReplayMark(reads, { ...hook, marksReplays: true }, listed)),
  lastDeliveriesUntil: single((reads) => delivery.lastDeliveriesUntil(reads, hook, MIDDLE, false)),
};

export const cases: AreaCases = { queries };
