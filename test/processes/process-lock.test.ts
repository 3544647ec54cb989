import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { lockFile } from '../../infra/process-lock.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const moduleUrl = new URL('../../infra/process-lock.ts', import.meta.url).href;

/** Returns whether another process can lock the file at this moment. */
const isFree = (file: string): boolean => {
  const script = `import { lockFile } from '${moduleUrl}'; process.stdout.write(String(lockFile(process.argv[1]) !== undefined));`;
  return execFileSync(process.execPath, ['--input-type=module', '-e', script, file], { encoding: 'utf8' }) === 'true';
};

test('after a process has locked a file, locking it again fails, even in the same process, until the lock is released', () => {
  const file = join(createTempDirectory().dir, 'lock');
  const lock = lockFile(file);
  assert.not(isFree(file));
  assert.is(lockFile(file), undefined);
  assert.not(isFree(file));
  lock?.release();
  assert.ok(isFree(file));
});

test.run();
