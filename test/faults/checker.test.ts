import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { check, type Findings, type Logged, type Observed } from './checker.ts';
import type { Answer, Sent } from './load.ts';
import type { Hook } from './tenants.ts';

const AGENT = { tenant: { id: 't', key: 'k' }, id: 'a', slug: 'a', runnerKey: 'r' };
const HOOK: Hook = { agent: AGENT, id: 'h', path: '/hooks/inbound/h', secret: 's' };

const answer = (kind: Answer['kind'], id: string | null = null): Answer => ({ kind, id, says: kind, ms: 1 });

const sentOf = (number: number): Sent => ({
  number,
  hook: HOOK,
  delivery: `d${number}`,
  body: `body ${number}`,
  answers: [answer('unknown'), answer('accepted', `i${number}`), answer('duplicate', `i${number}`)],
});

const loggedOf = (number: number): Logged => ({
  event_id: `e${number}`,
  type: 'WebhookAccepted',
  id: `i${number}`,
  agent: 'a',
  hook: 'h',
  delivery: `d${number}`,
  body: `body ${number}`,
});

const rowOf = ({ id, hook, delivery }: Logged) => ({ id, integration_id: hook, provider_delivery_id: delivery, outcome: 'accepted' });

/** Four deliveries that arrived everywhere once and in order, but for what is changed. */
const observed = (changes: Partial<Observed> = {}): Observed => {
  const log = changes.log ?? [0, 1, 2, 3].map(loggedOf);
  const ids = log.map(({ event_id }) => event_id);
  return {
    sent: [0, 1, 2, 3].map(sentOf),
    log,
    rows: log.map(rowOf),
    messages: ids,
    effects: new Map([['a', ids]]),
    given: ids,
    ...changes,
  };
};

const finds = (changes: Partial<Observed>, expected: Partial<Record<keyof Findings, string[]>>, disturbed = { cuts: 0, runnerKills: 0 }) =>
  assert.equal(check(observed(changes), disturbed), { lost: [], doubled: [], strange: [], disordered: [], ...expected });

const answered = (...answers: Answer[]): Sent[] => [...[0, 1, 2].map(sentOf), { ...sentOf(3), answers }];

test('deliveries that all happened once and in order cause no finding', () => finds({}, {}));

test('an unacknowledged delivery may have been recorded or not', () => {
  finds({ sent: answered(answer('unknown')) }, { strange: ['h/d3 was never answered: unknown'] });
  finds({ sent: answered(answer('unknown')), log: [0, 1, 2].map(loggedOf) }, { strange: ['h/d3 was never answered: unknown'] });
});

test('an acknowledged delivery that the log lacks is lost, even if only its duplicate was acknowledged', () => {
  const strange = ["h/d3 was answered with another id than the log's"];
  finds({ log: [0, 1, 2].map(loggedOf) }, { lost: ['h/d3 is not in the log'], strange });
  finds({ log: [0, 1, 2].map(loggedOf), sent: answered(answer('duplicate', 'i3')) }, { lost: ['h/d3 is not in the log'], strange });
});

test('a delivery with two events, or two acceptances, is doubled', () => {
  const again = { ...loggedOf(1), event_id: 'e9' };
  const log = [...[0, 1, 2, 3].map(loggedOf), again];
  finds({ log }, { doubled: ['h/d1 is 2 times in the log', 'i1 is 2 times in the view'] });
  finds({ sent: answered(answer('accepted', 'i3'), answer('accepted', 'i3')) }, { doubled: ['h/d3 was accepted 2 times'] });
});

test('a delivery that was not sent or was refused, or whose body or row differs, is strange', () => {
  finds({ log: [...[0, 1, 2, 3].map(loggedOf), loggedOf(4)] }, { strange: ['h/d4 should not be in the log'] });
  finds({ sent: answered(answer('refused'), answer('accepted', 'i3')) }, { strange: ['h/d3 was refused: refused'] });
  finds({ log: [...[0, 1, 2].map(loggedOf), { ...loggedOf(3), body: '?' }] }, { strange: ['h/d3 has another body in the log'] });
  const rows = [0, 1, 2, 3].map(loggedOf).map(rowOf);
  finds({ rows: [...rows.slice(0, 3), { ...rows[3]!, outcome: 'dead' }] }, { strange: ['i3 differs in the view'] });
});

test('a delivery missing in a read model, the stream or a runner is lost; one that is there twice is doubled', () => {
  const rows = [0, 1, 2].map(loggedOf).map(rowOf);
  finds({ rows }, { lost: ['i3 is not in the view'] });
  finds({ rows: [...rows, rows[0]!, rowOf(loggedOf(3))] }, { doubled: ['i0 is 2 times in the view'] });
  finds({ messages: ['e0', 'e1', 'e3'] }, { lost: ['e2 is not in the stream'] });
  finds({ messages: ['e0', 'e1', 'e2', 'e3', 'e3'] }, { doubled: ['e3 is 2 times in the stream'] });
  finds({ effects: new Map([['a', ['e0', 'e1', 'e2']]]) }, { lost: ['e3 is not with the runner of a'] });
  finds({ effects: new Map() }, { lost: ['e0', 'e1', 'e2', 'e3'].map((id) => `${id} is not with the runner of a`) });
  finds({ effects: new Map([['a', ['e0', 'e1', 'e2', 'e3', 'e3']]]) }, { doubled: ['e3 is 2 times with the runner of a'] });
});

test('a delivery that reaches another agent is strange', () => {
  const effects = new Map([
    ['a', ['e0', 'e1', 'e2', 'e3']],
    ['b', ['e3']],
  ]);
  finds({ effects }, { strange: ['e3 should not be with the runner of b'] });
});

test('the stream has the order of the log; a runner may get one message late for each lost connection', () => {
  const ids = ['e1', 'e0', 'e2', 'e3'];
  finds({ messages: ids }, { disordered: ['e0 stands too late in the stream'] });
  finds({ effects: new Map([['a', ids]]) }, { disordered: ['e0 came too late to the runner of a'] });
  finds({ effects: new Map([['a', ids]]) }, {}, { cuts: 1, runnerKills: 0 });
  finds({ effects: new Map([['a', ids]]) }, {}, { cuts: 0, runnerKills: 1 });
});

test('a command gets an event again only if its runner was killed', () => {
  const given = ['e0', 'e1', 'e2', 'e3', 'e3'];
  finds({ given }, { doubled: ['e3 was given 2 times to a command'] });
  finds({ given }, {}, { cuts: 0, runnerKills: 1 });
});

test.run();
