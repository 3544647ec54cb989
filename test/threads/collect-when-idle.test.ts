import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import { ok } from 'uvu/assert';

const MEBIBYTE = 1024 * 1024;
const module = join(import.meta.dirname, '../../infra/threads/collect-when-idle.ts');

/** Creates many objects, then has nothing to do. Prints the sizes of the heap at the end of the work, and when it has shrunk. */
const PROGRAM = `
  import { setTimeout as sleep } from 'node:timers/promises';
  import { collectWhenIdle } from ${JSON.stringify(module)};
  const heap = () => process.memoryUsage().heapTotal;
  for (let round = 0; round < 100; round++) Array.from({ length: 20_000 }, (_, index) => ({ index, text: 'x' + index }));
  const busy = heap();
  collectWhenIdle(100);
  for (let waited = 0; waited < 300 && heap() > busy / 4; waited++) await sleep(100);
  console.log(JSON.stringify([busy, heap()]));
`;

test('a process that has nothing to do gives the memory of its work back', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', PROGRAM]);
  const [busy, idle] = JSON.parse(stdout) as [number, number];
  ok(busy > 40 * MEBIBYTE, stdout);
  ok(idle <= busy / 4, stdout);
});

test.run();
