import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { redeliveryTime } from '../../domain/runners/redelivery-delay.ts';
import { publishedState } from '../../projections/deliveries/delivery-states.ts';

const AT = '2026-03-14T09:30:00.000Z';
const UNTIL = '2026-03-14T10:00:00.000Z';
const held = { reason: 'budget', rule: null, note: null, until: UNTIL, since: null };
const working = [{ agent_id: 'one', before: 'p5' }];
const spent = [{ agent_id: 'one', until: UNTIL }];

/** What is known about the message and the agent, the status of the delivery and, if it is another word, its state. */
const CASES = [
  ['no runner has the message', { place: 'p5' }, { working }, 'queued'],
  ['a runner has it', { place: 'p4' }, { working }, 'running'],
  ['no runner is connected', { place: 'p4' }, {}, 'queued'],
  ['another agent has a runner', { place: 'p4', message_agent_id: 'two' }, { working }, 'queued'],
  ['it failed and waits for its next attempt', { place: 'p4', retry_at: '2026-03-14T09:30:01.000Z' }, { working }, 'queued', 'retrying'],
  ['it failed and its next attempt is due', { place: 'p4', retry_at: AT }, { working }, 'running', 'retrying'],
  ['the budget is used up', { place: 'p5' }, { working, spent }, 'held'],
  ['the budget is used up, but a runner works on it', { place: 'p4' }, { working, spent }, 'running'],
  ['the budget is used up while it waits for its next attempt', { place: 'p4', retry_at: UNTIL }, { working, spent }, 'held'],
  ['the budget of another agent is used up', { place: 'p5', message_agent_id: 'two' }, { working, spent }, 'queued'],
] as const;

for (const [name, message, queues, status, state = status] of CASES)
  test(`a published delivery is ${state} if ${name}`, () => {
    const open = { message_agent_id: 'one', retry_at: null, ...message };
    const next_attempt_at = state === 'retrying' && open.retry_at !== AT ? open.retry_at : null;
    assert.equal(publishedState(open, { at: AT, working: [], spent: [], ...queues }), {
      ...{ status, state, next_attempt_at },
      held: status === 'held' ? held : null,
    });
  });

test('a failed message is delivered again after a delay that doubles, at most five minutes', () => {
  const seconds = (attempts: number): number => (Date.parse(redeliveryTime(AT, attempts)) - Date.parse(AT)) / 1_000;
  assert.equal([1, 2, 3, 9, 10, 30].map(seconds), [1, 2, 4, 256, 300, 300]);
});

test.run();
