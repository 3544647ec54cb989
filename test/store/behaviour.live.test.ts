import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { startStore } from '../fixtures/store-process.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const recorded = join(import.meta.dirname, '../../../shared/store');
const there = existsSync(join(recorded, 'real-node.json'));

const check = async (): Promise<void> => {
  const store = await startStore();
  const script = join(recorded, 'behaviour.mjs');
  const against = join(recorded, 'real-node.json');
  const { stdout, stderr } = spawnSync(process.execPath, [script, 'check', '--url', store.url, '--against', against, '--seeds', '1-40'], {
    cwd: join(import.meta.dirname, '../..'),
    encoding: 'utf8',
    timeout: 110_000,
  });
  await store.end();
  assert.match(stdout, /^4011 of 4011 answers equal$/m, stdout.slice(0, 4000) || stderr.slice(-2000));
};

if (there) test('it answers 4,011 questions as a real node did', check);
else test('the recording of a real node is not here, so nothing is compared with it', () => console.log(`skipped: no ${recorded}`));

test.run();
