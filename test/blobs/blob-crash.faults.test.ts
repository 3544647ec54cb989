// limit: 180 s for this file (test/run.ts)
import { globSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { openStoreOf } from '../fixtures/blob-process.ts';
import { root as checkout, startProgram, startWithFullDisk } from '../fixtures/child-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const MIB = 1_024 * 1_024;
const KILLS = 12;
const child = join(checkout, 'test/fixtures/blob-process.ts');

const readAll = async (root: string, sha256: string): Promise<void> => {
  const blob = await openStoreOf(root).get(sha256);
  assert.ok(blob, `${sha256} is stored`);
  for await (const _ of blob!.content);
};

test('if the process is killed at a random time, every content that was reported as stored exists afterwards, and no content is incomplete', async () => {
  const { dir: root } = createTempDirectory();
  const reported: string[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const program = startProgram(process.execPath, [child, root, String(3 * MIB)]);
    await program.waitForOutput(/\n/);
    await sleep(Math.random() * 150);
    await program.stop('SIGKILL');
    reported.push(
      ...program
        .output()
        .split('\n')
        .filter((line) => line.length === 64),
    );
  }
  const visible = globSync('acme/*/*', { cwd: root }).map((path) => basename(path));
  for (const sha256 of new Set([...reported, ...visible])) await readAll(root, sha256);
  assert.ok(reported.length >= KILLS);
  assert.ok(readdirSync(join(root, 'drafts')).length > 0, 'at least one kill interrupted a put');
});

test('storing and reading a content of 300 MiB as a stream takes less than 100 MiB of memory', async () => {
  const { dir: root } = createTempDirectory();
  const program = startProgram(process.execPath, [child, root, String(300 * MIB), 'stream']);
  await program.ended;
  const { isSame, grownMiB } = JSON.parse(program.output()) as { isSame: boolean; grownMiB: number };
  assert.is(isSame, true);
  assert.ok(grownMiB < 100, `the process grew by ${grownMiB} MiB`);
});

test('if the disk is full, a put fails with the refusal unavailable, and leaves neither a content nor a temporary file', async () => {
  const { dir: root } = createTempDirectory();
  const program = startWithFullDisk(child, root, '1000', 'once');
  await program.ended;
  assert.is(program.output().trim(), 'unavailable: The file store is full: try again later');
  assert.equal(globSync('**/*', { cwd: root }), ['drafts']);
});

test.run();
