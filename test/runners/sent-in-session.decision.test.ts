import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { LastMessages, sentAfter, sentInSession } from '../../infra/runner/sent-in-session.ts';
import { eventIdOf } from '../fixtures/generated-log.ts';

const message = (index: number, more: object = {}) => ({
  id: `m${index}`,
  role: 'user',
  content: `text ${index}`,
  created_at: '2026-01-01T00:00:00.000Z',
  created_by_id: 'u',
  attachment_ids: [],
  event_id: eventIdOf(index),
  previous_event_id: index === 0 ? null : eventIdOf(index - 1),
  runner_status: 'waiting',
  ...more,
});

const CASES: Readonly<Record<string, readonly [more: object, isTaken: boolean]>> = {
  'that waits': [{}, true],
  'whose state is not known': [{ runner_status: null }, true],
  'of a service that does not say the state': [{ runner_status: undefined }, true],
  'that a runner has processed': [{ runner_status: 'seen' }, false],
  'that was given up': [{ runner_status: 'given_up' }, false],
  'that was not sent to the runner': [{ event_id: null }, false],
  'of a service that does not name the event': [{ event_id: undefined }, false],
};

for (const [name, [more, isTaken]] of Object.entries(CASES))
  test(`a handler that begins ${isTaken ? 'gets' : 'does not get'} a message ${name}`, () => {
    const { messages } = sentInSession({ tenant: 't', agent: 'a' }, 's', LastMessages.parse({ messages: [message(1, more)] }));
    assert.equal(
      messages.map(({ id, previous }) => [id, previous]),
      isTaken ? [[eventIdOf(1), eventIdOf(0)]] : [],
    );
  });

const READS: Readonly<Record<string, readonly [last: object[], reads: number[]]>> = {
  'is the last one': [[message(1)], [1]],
  'is followed by another': [[message(2)], [1, 20]],
  'is followed by an answer': [[message(2, { event_id: null })], [1, 20]],
  'has no message': [[], [1, 20]],
};

for (const [name, [last, reads]] of Object.entries(READS))
  test(`a handler reads ${reads.at(-1)} of the last messages if its event ${name}`, async () => {
    const asked: number[] = [];
    await sentAfter(eventIdOf(1), async (limit) => {
      asked.push(limit);
      return sentInSession({ tenant: 't', agent: 'a' }, 's', LastMessages.parse({ messages: last }));
    });
    assert.equal(asked, reads);
  });

test('a message has its files, with the attributes that the event has', () => {
  const attachments = [
    { id: 'f1', filename: 'a.txt' },
    { id: 'f2', filename: 'b.txt' },
  ];
  const last = LastMessages.parse({ messages: [message(1, { attachment_ids: ['f2'] })], attachments });
  const [event] = sentInSession({ tenant: 't', agent: 'a' }, 's', last).messages;
  assert.equal((event!.data as { files: unknown }).files, [{ filename: 'b.txt', attachment_id: 'f2' }]);
});

test.run();
