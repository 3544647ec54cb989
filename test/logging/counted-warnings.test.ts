import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createCountedWarnings } from '../../infra/logging/counted-warnings.ts';

test('a flood of warnings about one source gets one line each minute with their number; other sources have lines of their own', () => {
  let time = 0;
  const lines: unknown[] = [];
  const warn = createCountedWarnings({ warn: (fields: unknown) => void lines.push(fields) } as never, 'dropped', () => time);
  for (let count = 0; count < 1_000; count++) warn('greedy');
  warn('calm', { run: 'r' });
  time += 59_999;
  warn('greedy');
  time += 1;
  for (let count = 0; count < 10; count++) warn('greedy');
  assert.equal(lines, [
    { source: 'greedy', count: 1 },
    { source: 'calm', run: 'r', count: 1 },
    { source: 'greedy', count: 1_001 },
  ]);
});

test.run();
