import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type AcknowledgementLog, recordAcknowledgements } from '../../commands/runners/record-acknowledgements.reactor.ts';
import type { Recorded } from '../../domain/event.ts';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
import { acknowledgementLog, recordSettlement } from '../../infra/relay/record-acknowledgements.ts';
import { TENANT } from '../fixtures/given.ts';
import { memoryLog } from '../fixtures/memory-log.ts';

const advisory = (sequence: number, outcome: Acknowledgement.Advisory['outcome'] = 'acknowledged'): Acknowledgement.Advisory => ({
  delivery_id: `d${sequence}`,
  event_id: `e${sequence}`,
  at: '2026-01-01T00:00:00.000Z',
  attempts: 1,
  sequence,
  outcome,
});

const addressed = (agent: string, each: Acknowledgement.Advisory) => ({ tenant: TENANT, agent, advisory: each });

type Events = readonly Acknowledgement.AcknowledgementEvent[];

const deliveriesIn = (events: Events): string[] =>
  events
    .flatMap(({ type, data }): readonly Acknowledgement.SettledDelivery[] => {
      if (type === 'DeliveryAttemptFailed') return data.failures;
      if (type === 'SessionMessagesSettled') return [];
      return type === 'DeliveriesAcknowledged' ? data.deliveries : [data];
    })
    .map(({ delivery_id }) => delivery_id);

/**
 * Creates acknowledgement streams in memory. If `rival` has events, they are stored just before the first append, as if
 * another process had appended them. The first append then fails with a conflict and stores nothing.
 */
const memoryStreams = (rival: Events = []) => {
  const streams = new Map<string, Acknowledgement.AcknowledgementEvent[]>();
  const eventsOf = (agent: string) => streams.getOrInsertComputed(agent, () => []);
  let isFirst = rival.length > 0;
  const log: AcknowledgementLog = {
    load: async (_, agent) => {
      const events = eventsOf(agent);
      const fold = (state: Acknowledgement.Acknowledgements, event: Acknowledgement.AcknowledgementEvent) =>
        Acknowledgement.evolve(state, event as Recorded<Acknowledgement.AcknowledgementEvent>);
      return { state: events.reduce(fold, Acknowledgement.initial), revision: events.length - 1 };
    },
    append: async (_, agent, revision, events) => {
      if (isFirst) eventsOf(agent).push(...rival);
      isFirst = false;
      if (revision !== eventsOf(agent).length - 1) return false;
      eventsOf(agent).push(...events);
      return true;
    },
  };
  return { log, eventsOf };
};

test("advisories that the agent's stream already records are not recorded again", () => {
  const advisories = [advisory(3), advisory(4, 'terminated'), advisory(5)];
  const [acknowledged, dead] = Acknowledgement.recordAdvisories('e', advisories)({ capture: { epoch: 'e', sequence: 3 } });
  assert.equal(acknowledged?.type === 'DeliveriesAcknowledged' && acknowledged.data.deliveries.map(({ delivery_id }) => delivery_id), [
    'd5',
  ]);
  assert.equal(dead?.type === 'DeliveryDeadLettered' && [dead.data.delivery_id, dead.data.reason], ['d4', 'terminated']);
  assert.equal(Acknowledgement.recordAdvisories('e', advisories)({ capture: { epoch: 'e', sequence: 5 } }), []);
  assert.is(Acknowledgement.recordAdvisories('another', advisories)({ capture: { epoch: 'e', sequence: 5 } }).length, 2);
});

test('an advisory with a lower sequence number than the recorded ones is recorded if it is later, because the broker has restarted its numbering', () => {
  const [first] = Acknowledgement.recordAdvisories('e', [advisory(9)])(Acknowledgement.initial);
  const { capture } = first!.data;
  assert.equal(capture, { epoch: 'e', sequence: 9, at: '2026-01-01T00:00:00.000Z' });
  const later = { ...advisory(1), at: '2026-01-01T00:00:05.000Z' };
  const [second] = Acknowledgement.recordAdvisories('e', [advisory(8), later])({ capture });
  assert.equal(deliveriesIn([second!]), ['d1']);
  assert.equal(second!.data.capture, { epoch: 'e', sequence: 1, at: later.at });
  assert.equal(Acknowledgement.recordAdvisories('e', [later])({ capture: second!.data.capture }), []);
});

test('one event records the negative acknowledgements of all messages; it comes before the events with acknowledgements and dead letters', () => {
  const advisories = [advisory(1), advisory(2, 'failed'), advisory(3, 'max_deliveries'), advisory(4, 'failed')];
  const events = Acknowledgement.recordAdvisories('e', advisories)(Acknowledgement.initial);
  assert.equal(
    events.map(({ type }) => type),
    ['DeliveryAttemptFailed', 'DeliveriesAcknowledged', 'DeliveryDeadLettered'],
  );
  assert.equal(deliveriesIn([events[0]!]), ['d2', 'd4']);
});

test('messages of sessions that are settled are recorded in an event of their own, without failed attempts', () => {
  const ofSession = (sequence: number, outcome: Acknowledgement.Advisory['outcome']): Acknowledgement.Advisory => ({
    ...advisory(sequence, outcome),
    delivery_id: '',
    session_id: 's',
  });
  const advisories = [
    ofSession(1, 'failed'),
    ofSession(2, 'acknowledged'),
    advisory(3),
    ofSession(4, 'max_deliveries'),
    ofSession(5, 'terminated'),
  ];
  const events = Acknowledgement.recordAdvisories('e', advisories)(Acknowledgement.initial);
  assert.equal(
    events.map(({ type }) => type),
    ['DeliveriesAcknowledged', 'SessionMessagesSettled'],
  );
  const { data } = events[1] as Extract<Acknowledgement.AcknowledgementEvent, { type: 'SessionMessagesSettled' }>;
  assert.equal(
    data.messages.map(({ session_id, event_id, outcome }) => [session_id, event_id, outcome]),
    [
      ['s', 'e2', 'acknowledged'],
      ['s', 'e4', 'max_deliveries'],
      ['s', 'e5', 'terminated'],
    ],
  );
  assert.equal(Acknowledgement.recordAdvisories('e', advisories)({ capture: data.capture }), []);
  assert.equal(Acknowledgement.recordAdvisories('e', [ofSession(1, 'failed')])(Acknowledgement.initial), []);
});

test('the advisories of each agent are recorded in the stream of that agent; recording them again appends no event', async () => {
  const { log, eventsOf } = memoryStreams();
  const advisories = [addressed('a', advisory(1)), addressed('b', advisory(2)), addressed('a', advisory(3, 'max_deliveries'))];
  for (let round = 0; round < 2; round++) await recordAcknowledgements(log, 'e', advisories);
  assert.equal(deliveriesIn(eventsOf('a')), ['d1', 'd3']);
  assert.equal(deliveriesIn(eventsOf('b')), ['d2']);
});

test('if another process appends first, only those advisories are recorded that the other process did not record', async () => {
  const rival = Acknowledgement.recordAdvisories('e', [advisory(1)])(Acknowledgement.initial);
  const { log, eventsOf } = memoryStreams(rival);
  await recordAcknowledgements(log, 'e', [addressed('a', advisory(1)), addressed('a', advisory(2))]);
  assert.equal(deliveriesIn(eventsOf('a')), ['d1', 'd2']);
});

test('if the advisories concern more deliveries than one event can hold, they are recorded in several events', async () => {
  const count = Acknowledgement.MAX_DELIVERIES_PER_EVENT + 1;
  const { log, eventsOf } = memoryStreams();
  const all = Array.from({ length: count }, (_, index) => addressed('a', advisory(index + 1)));
  await recordAcknowledgements(log, 'e', all);
  assert.is(eventsOf('a').length, 2);
  assert.is(new Set(deliveriesIn(eventsOf('a'))).size, count);
});

test('settlements of messages of one agent that are recorded at the same time are all in the log', async () => {
  const log = memoryLog();
  await recordAcknowledgements(acknowledgementLog(log, 'recorder'), 'e', [addressed('a', advisory(1))]);
  const ids = Array.from({ length: 8 }, (_, index) => `lost ${index}`);
  const settled = { session_id: 's', at: '2026-01-01T00:00:00.000Z', attempts: 1, outcome: 'acknowledged' } as const;
  await Promise.all(ids.map((event_id) => recordSettlement(log, { tenant: TENANT, agent: 'a' }, { ...settled, event_id })));
  const recorded = log.events.flatMap(({ data }) => (data as { messages?: { event_id: string }[] }).messages ?? []);
  assert.equal(recorded.map(({ event_id }) => event_id).sort(), ids);
});

test.run();
