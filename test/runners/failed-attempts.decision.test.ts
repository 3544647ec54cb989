import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nextAttempt } from '../../infra/runner/receive-events.ts';

const attempts: [number, number, string][] = [
  [1, 1_000, 'attempt 1 of 10; it is tried again in 1 s'],
  [9, 340, 'attempt 9 of 10; it is tried again in 0.3 s'],
  [10, 0, 'attempt 10, the last one; it is given up: once the cause is mended, annals deliveries redeliver sends it again'],
];
for (const [attempt, delayMs, text] of attempts)
  test(`a runner says whether a delivery is tried again: after attempt ${attempt}`, () => assert.is(nextAttempt(attempt, delayMs), text));

test('for a message in a session that is given up, the remedy is to write again', () =>
  assert.match(nextAttempt(10, 0, 'annals.session.message'), /given up: once the cause is mended, write in the session again$/));

test.run();
