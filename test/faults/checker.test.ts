import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { check, type FinalState, type Findings, type LoggedDelivery } from './checker.ts';
import type { Answer, SentDelivery } from './load.ts';
import type { Hook } from './tenants.ts';

const AGENT = { tenant: { id: 't', slug: 't', key: 'k' }, id: 'a', slug: 'a', runnerKey: 'r' };
const HOOK: Hook = { agent: AGENT, id: 'h', path: '/hooks/inbound/h', secret: 's' };

const answer = (kind: Answer['kind'], id: string | null = null): Answer => ({ kind, id, detail: kind, ms: 1, sentAt: 0 });

const sentOf = (number: number): SentDelivery => ({
  number,
  hook: HOOK,
  deliveryId: `d${number}`,
  body: `body ${number}`,
  answers: [answer('unknown'), answer('accepted', `i${number}`), answer('duplicate', `i${number}`)],
});

const loggedOf = (number: number): LoggedDelivery => ({
  event_id: `e${number}`,
  type: 'WebhookAccepted',
  id: `i${number}`,
  agentId: 'a',
  hookId: 'h',
  deliveryId: `d${number}`,
  body: `body ${number}`,
});

const rowOf = ({ id, hookId, deliveryId }: LoggedDelivery) => ({
  id,
  integration_id: hookId,
  provider_delivery_id: deliveryId,
  outcome: 'accepted',
});

/**
 * Returns a final state in which each of four deliveries arrived everywhere once and in order. `changes` replaces parts
 * of it.
 */
const finalState = (changes: Partial<FinalState> = {}): FinalState => {
  const log = changes.log ?? [0, 1, 2, 3].map(loggedOf);
  const ids = log.map(({ event_id }) => event_id);
  return {
    sent: [0, 1, 2, 3].map(sentOf),
    log,
    rows: log.map(rowOf),
    messages: ids,
    effects: new Map([['a', ids]]),
    commandRuns: ids,
    ...changes,
  };
};

const expectFindings = (
  changes: Partial<FinalState>,
  expected: Partial<Record<keyof Findings, string[]>>,
  kills = { brokerKills: 0, runnerKills: 0 },
) => assert.equal(check(finalState(changes), kills), { lost: [], duplicated: [], unexpected: [], outOfOrder: [], ...expected });

const withLastAnswers = (...answers: Answer[]): SentDelivery[] => [...[0, 1, 2].map(sentOf), { ...sentOf(3), answers }];

test('the checker of fault tests reports nothing if every delivery arrived everywhere once and in order', () => expectFindings({}, {}));

test('if the request of a delivery was never answered, the checker reports the delivery neither as lost nor as duplicated, whether the log contains it or not', () => {
  expectFindings({ sent: withLastAnswers(answer('unknown')) }, { unexpected: ['h/d3 was never answered: unknown'] });
  expectFindings(
    { sent: withLastAnswers(answer('unknown')), log: [0, 1, 2].map(loggedOf) },
    { unexpected: ['h/d3 was never answered: unknown'] },
  );
});

test('the checker reports a delivery as lost if the platform answered that it was accepted or a duplicate, but the log does not contain it', () => {
  const unexpected = ["h/d3 was answered with another id than the log's"];
  expectFindings({ log: [0, 1, 2].map(loggedOf) }, { lost: ['h/d3 is not in the log'], unexpected });
  expectFindings(
    { log: [0, 1, 2].map(loggedOf), sent: withLastAnswers(answer('duplicate', 'i3')) },
    { lost: ['h/d3 is not in the log'], unexpected },
  );
});

test('the checker reports a delivery as duplicated if it has two events or was answered with 202 twice', () => {
  const again = { ...loggedOf(1), event_id: 'e9' };
  const log = [...[0, 1, 2, 3].map(loggedOf), again];
  expectFindings({ log }, { duplicated: ['h/d1 is 2 times in the log', 'i1 is 2 times in the read model'] });
  expectFindings(
    { sent: withLastAnswers(answer('accepted', 'i3'), answer('accepted', 'i3')) },
    { duplicated: ['h/d3 was accepted 2 times'] },
  );
});

test('the checker reports a delivery as unexpected if it was refused or not sent but is recorded, or if its recorded body or row differs', () => {
  expectFindings({ log: [...[0, 1, 2, 3].map(loggedOf), loggedOf(4)] }, { unexpected: ['h/d4 should not be in the log'] });
  expectFindings({ sent: withLastAnswers(answer('refused'), answer('accepted', 'i3')) }, { unexpected: ['h/d3 was refused: refused'] });
  expectFindings(
    { log: [...[0, 1, 2].map(loggedOf), { ...loggedOf(3), body: '?' }] },
    { unexpected: ['h/d3 has another body in the log'] },
  );
  const rows = [0, 1, 2, 3].map(loggedOf).map(rowOf);
  expectFindings({ rows: [...rows.slice(0, 3), { ...rows[3]!, outcome: 'dead' }] }, { unexpected: ['i3 differs in the read model'] });
});

test('if a delivery is missing in the read model, in the NATS stream or at a runner, the checker reports it as lost; if it is there twice, as duplicated', () => {
  const rows = [0, 1, 2].map(loggedOf).map(rowOf);
  expectFindings({ rows }, { lost: ['i3 is not in the read model'] });
  expectFindings({ rows: [...rows, rows[0]!, rowOf(loggedOf(3))] }, { duplicated: ['i0 is 2 times in the read model'] });
  expectFindings({ messages: ['e0', 'e1', 'e3'] }, { lost: ['e2 is not in the stream'] });
  expectFindings({ messages: ['e0', 'e1', 'e2', 'e3', 'e3'] }, { duplicated: ['e3 is 2 times in the stream'] });
  expectFindings({ effects: new Map([['a', ['e0', 'e1', 'e2']]]) }, { lost: ['e3 is not with the runner of a'] });
  expectFindings({ effects: new Map() }, { lost: ['e0', 'e1', 'e2', 'e3'].map((id) => `${id} is not with the runner of a`) });
  expectFindings({ effects: new Map([['a', ['e0', 'e1', 'e2', 'e3', 'e3']]]) }, { duplicated: ['e3 is 2 times with the runner of a'] });
});

test('the checker reports a delivery as unexpected if it reaches the runner of another agent', () => {
  const effects = new Map([
    ['a', ['e0', 'e1', 'e2', 'e3']],
    ['b', ['e3']],
  ]);
  expectFindings({ effects }, { unexpected: ['e3 should not be with the runner of b'] });
});

test('the checker reports messages that are not in the order of the log, except one late message at a runner for each kill of the broker or of a runner', () => {
  const ids = ['e1', 'e0', 'e2', 'e3'];
  expectFindings({ messages: ids }, { outOfOrder: ['e0 comes too late in the stream'] });
  expectFindings({ effects: new Map([['a', ids]]) }, { outOfOrder: ['e0 reached the runner of a too late'] });
  expectFindings({ effects: new Map([['a', ids]]) }, {}, { brokerKills: 1, runnerKills: 0 });
  expectFindings({ effects: new Map([['a', ids]]) }, {}, { brokerKills: 0, runnerKills: 1 });
});

test("the checker reports an event as duplicated if the runner's command ran twice for it, unless a runner was killed", () => {
  const commandRuns = ['e0', 'e1', 'e2', 'e3', 'e3'];
  expectFindings({ commandRuns }, { duplicated: ['the command ran 2 times for e3'] });
  expectFindings({ commandRuns }, {}, { brokerKills: 0, runnerKills: 1 });
});

test.run();
