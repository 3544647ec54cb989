import { AccessDeniedError, DeadlineExceededError, ErrorType, UnknownError, WrongExpectedVersionError } from '@eventstore/db-client';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { classify } from '../../infra/eventstore/errors.ts';

/** An answer to an append whose reason the client has no type for. */
const answered = (reason: string): Error => new UnknownError(undefined, `Could not recognize ${reason}`);

/** What a node answers that cannot serve the call now, but may serve it later. */
const LATER: readonly Error[] = [
  answered('Server Is Not Ready'),
  answered('Server Is Busy'),
  answered('No leader info available in response'),
  answered('Unknown NotHandledReason (3)'),
  new Error('2 UNKNOWN: No leader info available in response'),
  new Error('14 UNAVAILABLE: Server Is Busy'),
  new Error('Failed to discover after 10 attempts.'),
  new DeadlineExceededError(),
  Object.assign(new Error('5 NOT_FOUND: Leader info available'), { type: ErrorType.NOT_LEADER }),
];

test('after each answer of a node that cannot serve a call now, the call is repeated', () => {
  assert.equal(
    LATER.map((error) => [error.message, classify(error).kind]),
    LATER.map((error) => [error.message, 'unavailable']),
  );
});

test('after an answer that would be the same again, the call is not repeated', () => {
  for (const error of [answered('Bad Request'), new Error('5 NOT_FOUND: no such stream'), new Error('3 INVALID_ARGUMENT')])
    assert.is(classify(error).kind, 'wrong-request', error.message);
});

test('an error for which the client has no text is shown by its type', () => {
  const revisions = { streamName: 'item-1', expected: 0n, current: 1n } as never;
  const errors = [new AccessDeniedError(), new DeadlineExceededError(), new WrongExpectedVersionError(undefined as never, revisions)];
  assert.equal(
    errors.map((error) => [error.message, classify(error).message]),
    [
      ['', 'access-denied'],
      ['', 'deadline-exceeded'],
      ['', 'wrong-expected-version'],
    ],
  );
});

test.run();
