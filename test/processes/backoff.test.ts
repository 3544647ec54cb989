import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createBackoff, pollDelay, retryDelay } from '../../infra/backoff.ts';

test('the back-off delay doubles with every failure, up to its maximum', () => {
  const { next } = createBackoff({ minMs: 50, maxMs: 300 });
  assert.equal([next(), next(), next(), next(), next()], [50, 100, 200, 300, 300]);
});

test('after a success, the back-off delays start again at the minimum', () => {
  const { next, reset } = createBackoff({ minMs: 50, maxMs: 300 });
  next();
  next();
  reset();
  assert.is(next(), 50);
});

test('jitter 0.25 varies a delay by at most 25 %', () => {
  const delays = Array.from({ length: 1_000 }, () => retryDelay({ minMs: 100, maxMs: 1_000, jitter: 0.25 }, 2));
  assert.ok(delays.every((delay) => delay >= 150 && delay <= 250));
  assert.ok(new Set(delays).size > 900);
});

test('the delay between polls grows with the time waited, between its limits', () => {
  const after = (ms: number): number => Math.round(pollDelay({ minMs: 20, maxMs: 250 }, performance.now() - ms) / 10) * 10;
  assert.equal([0, 1_000, 4_000, 60_000].map(after), [20, 30, 120, 250]);
});

test('a wait ends early, without an error, when its signal is aborted', async () => {
  const control = new AbortController();
  const started = performance.now();
  const waited = createBackoff({ minMs: 60_000, maxMs: 60_000 }).wait(control.signal);
  control.abort();
  await waited;
  assert.ok(performance.now() - started < 5_000);
});

test.run();
