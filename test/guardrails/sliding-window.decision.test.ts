import fc from 'fast-check';
import { test } from 'uvu';
import { equal, is, ok } from 'uvu/assert';
import { counted, emptyWindow, hasRoom, type RateLimit, type WindowState } from '../../domain/guardrails/sliding-window.ts';

/** Simulates deliveries at these times under a rate limit. @returns the times of the allowed deliveries */
const countedAt = (limit: RateLimit, times: readonly number[]): number[] => {
  let state: WindowState = emptyWindow;
  return times.filter((time) => {
    if (!hasRoom(state, limit, time)) return false;
    state = counted(state, limit, time);
    return true;
  });
};

const mostInWindow = ({ windowMs }: RateLimit, times: readonly number[]): number =>
  Math.max(0, ...times.map((start) => times.filter((time) => time >= start && time < start + windowMs).length));

const limitOf = (max: number, windowMs: number): RateLimit => ({ key: 'k', max, windowMs });
const sortedTimes = (max: number) => fc.array(fc.nat(max), { maxLength: 400 }).map((times) => times.toSorted((a, b) => a - b));

test('once the limit is reached, the next delivery is accepted when the oldest counted delivery is as old as the window, but not a millisecond earlier', () => {
  const limit = limitOf(1, 60_000);
  equal(countedAt(limit, [0, 59_999, 60_000, 119_999, 120_000]), [0, 60_000, 120_000]);
});

test('no sliding window contains more accepted deliveries than the limit, whenever the deliveries arrive', () =>
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 600 }), sortedTimes(5_000), (max, times) => {
      const limit = limitOf(max, 1_000);
      ok(mostInWindow(limit, countedAt(limit, times)) <= max);
    }),
  ));

test('if the limit is at most 256, a delivery is accepted exactly if the window before it contains fewer accepted deliveries than the limit', () =>
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 256 }), sortedTimes(3_000), (max, times) => {
      const limit = limitOf(max, 1_000);
      const expected: number[] = [];
      for (const time of times) if (expected.filter((one) => one > time - limit.windowMs).length < max) expected.push(time);
      equal(countedAt(limit, times), expected);
    }),
  ));

test('if the limit is above 256, at most 257 timestamps are stored, so a delivery can be accepted too late, but by no more than 1/256 of the window', () => {
  const limit = limitOf(86_400, 3_600_000);
  let state: WindowState = emptyWindow;
  for (let n = 0; n < limit.max; n++) state = counted(state, limit, n * 41);
  ok(state.length <= 2 * 257, `${state.length}`);
  const last = (limit.max - 1) * 41;
  is(hasRoom(state, limit, last), false);
  is(hasRoom(state, limit, limit.windowMs + Math.ceil(limit.windowMs / 256)), true);
});

test('if the clock is set back, no counted delivery is lost, and the order of the stored times does not change', () => {
  const limit = limitOf(3, 1_000);
  const state = counted(counted(counted(emptyWindow, limit, 5_000), limit, 4_000), limit, 5_500);
  is(hasRoom(state, limit, 5_500), false);
  equal(state, [5_000, 2, 5_500, 1]);
});

test.run();
