import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import { createCpuBudgets } from '../../infra/threads/cpu-budget.ts';

/** Budgets of 100 ms, and 10 ms for each second, with a clock and a meter that the test sets. */
const open = () => {
  let [time, used, refused] = [0, 0, 0];
  const onRefused = (): void => void refused++;
  const { charge } = createCpuBudgets({ burstMs: 100, perSecond: 10, onRefused, now: () => time, used: () => used });
  /** Runs a check that takes so many milliseconds. Returns the seconds to wait if it is refused, 0 if it is run. */
  const check = (tenant: string, ms: number): number | undefined => {
    try {
      charge(tenant, () => {
        used += ms;
      });
      return 0;
    } catch (error) {
      return (error as Refusal).extra.retryAfter;
    }
  };
  return { check, charge, wait: (seconds: number) => (time += seconds * 1_000), refused: () => refused };
};

test('a tenant that has used up its processor time is refused, and other tenants are not', () => {
  const { check, refused } = open();
  const answers = Array.from({ length: 5 }, () => [check('greedy', 40), check('calm', 1)]);
  assert.equal(answers, [
    [0, 0],
    [0, 0],
    [0, 0],
    [2, 0],
    [2, 0],
  ]);
  assert.is(refused(), 2);
});

test('after the time that the refusal names, one more check of the tenant is run; a rested tenant has its whole budget again', () => {
  const { check, wait } = open();
  assert.is(check('t', 130), 0);
  assert.is(check('t', 1), 3);
  wait(3.1);
  assert.equal([check('t', 10), check('t', 1)], [0, 1]);
  wait(1_000);
  assert.equal([check('t', 99), check('t', 99), check('t', 1)], [0, 0, 10]);
});

test('a check that throws is charged, and its error is passed on', () => {
  const { check, charge } = open();
  const fail = (): never => {
    check('other', 0);
    throw new TypeError('the check failed');
  };
  assert.throws(
    () => charge('t', fail),
    (error: unknown) => error instanceof TypeError,
  );
  assert.throws(
    () =>
      charge('t', () => {
        check('t', 200);
        throw new Refusal('invalid', 'no');
      }),
    (error: unknown) => error instanceof Refusal && error.code === 'invalid',
  );
  assert.ok(check('t', 1)! > 0);
});

test('without other settings, the processor time of this thread counts', () => {
  const { charge } = createCpuBudgets({ burstMs: 30, perSecond: 0.001 });
  let runs = 0;
  const spin = (): void => {
    runs++;
    for (let at = 0; at < 3_000_000; at++) Math.sqrt(at);
  };
  assert.throws(
    () => {
      for (;;) charge('t', spin);
    },
    (error: unknown) => error instanceof Refusal && error.code === 'rate_limited',
  );
  assert.ok(runs > 1);
});

test.run();
