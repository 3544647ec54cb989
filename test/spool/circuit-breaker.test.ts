import { test } from 'uvu';
import { equal } from 'uvu/assert';
import { createCircuitBreaker } from '../../infra/spool/circuit-breaker.ts';

test('the circuit breaker opens after three failures in a row; while it is open, it lets one call per second through', () => {
  let now = 0;
  const breaker = createCircuitBreaker({ now: () => now });
  breaker.failed('refused');
  breaker.failed('refused');
  breaker.succeeded();
  breaker.failed('refused');
  breaker.failed('refused');
  equal([breaker.isOpen(), breaker.mayTry(), breaker.mayTry()], [false, true, true]);
  breaker.failed('refused');
  equal([breaker.isOpen(), breaker.mayTry()], [true, false]);
  now = 1_000;
  equal([breaker.mayTry(), breaker.mayTry()], [true, false]);
  now = 2_500;
  breaker.failed('refused');
  equal(breaker.mayTry(), false);
});

test('a single success closes the circuit breaker', () => {
  const breaker = createCircuitBreaker({ now: () => 0 });
  for (let n = 0; n < 5; n++) breaker.failed('refused');
  breaker.succeeded();
  equal([breaker.isOpen(), breaker.mayTry()], [false, true]);
});

test.run();
