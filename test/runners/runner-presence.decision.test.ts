import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectedSince, lastSeen } from '../../domain/runners/runner-presence.ts';

const at = (minute: number): string => new Date(Date.UTC(2026, 10, 23, 0, minute)).toISOString();
const connection = (from: number, until: number | null) => ({
  from: at(from),
  until: until === null ? null : at(until),
  active_at: at(until ?? from),
});

test('the runner of an agent is shown as not connected if the agent has no open connection', () => {
  assert.is(connectedSince([]), null);
  assert.is(connectedSince([connection(0, 5), connection(3, 9)]), null);
});

test('if an agent has several open connections, its runner is shown as connected since the first of them was opened', () => {
  assert.is(connectedSince([connection(7, null), connection(4, null), connection(9, null)]), at(4));
});

test('if a runner opens a new connection before it closes the old one, it is shown as connected since the old one was opened', () => {
  const renewed = [connection(90, null), connection(0, 46), connection(45, 91), connection(46, 50)];
  for (const order of [renewed, renewed.toReversed()]) assert.is(connectedSince(order), at(0));
});

test('if a runner closes its connection before it opens a new one, it is shown as connected since the new one was opened', () => {
  assert.is(connectedSince([connection(50, null), connection(0, 46), connection(47, 51)]), at(47));
});

test('the time at which a runner was last seen is the latest of the known times, or null if none is known', () => {
  assert.is(lastSeen([]), null);
  assert.is(lastSeen([null, at(3), null, at(9), at(4)]), at(9));
});

test.run();
