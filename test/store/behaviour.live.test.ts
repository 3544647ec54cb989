import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { startStore } from '../fixtures/store-process.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const recorded = join(import.meta.dirname, '../../../shared/store');
const isRecordingAvailable = existsSync(join(recorded, 'real-node.json'));

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

if (isRecordingAvailable)
  test('the embedded event store gives the same answers to 4,011 recorded requests as a real EventStoreDB node', check);
else
  test('if the recorded answers of a real EventStoreDB node are missing, the comparison with them is skipped', () =>
    console.log(`skipped: no ${recorded}`));

test.run();
