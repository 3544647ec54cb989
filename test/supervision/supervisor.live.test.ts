import { openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { truncateLog } from '../../infra/supervision/process-log.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const MIB = 1024 * 1024;

test('a log above 10 MiB is copied to a second file and truncated while its process continues to write to it', () => {
  const file = join(createTempDirectory().dir, 'process.log');
  const writing = openSync(file, 'a');
  const write = (text: string, times: number) => writeSync(writing, text.repeat(times));
  write('a', 10 * MIB);
  truncateLog(file);
  assert.is(statSync(file).size, 10 * MIB);
  write('b', 1);
  truncateLog(file);
  assert.equal([statSync(file).size, statSync(`${file}.1`).size], [0, 10 * MIB + 1]);
  write('c', 3);
  assert.is(readFileSync(file, 'utf8'), 'ccc');
});

test.run();
