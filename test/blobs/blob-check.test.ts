import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { openDirectoryPlace } from '../../infra/blobs/open-blob-store.ts';
import { type Config, loadConfig } from '../../infra/config.ts';
import { checkBlobStore } from '../../infra/health/blob-check.ts';
import { createBlobHealth } from '../../infra/processes/blob-health.ts';
import { eventually } from '../fixtures/child-process.ts';
import { startS3Server } from '../fixtures/s3-server.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const configOf = (ANNALS_DATA: string, BLOBS_URL?: string): Config => loadConfig({ ANNALS_DATA, BLOBS_URL });

test('doctor skips the check of the file store if the platform has none', async () => {
  const { dir } = createTempDirectory();
  assert.is((await checkBlobStore(configOf(dir))).level, 'none');
});

test('doctor writes a test file to the directory of the file store; if a file is in the place of that directory, doctor reports this', async () => {
  const { dir } = createTempDirectory();
  mkdirSync(join(dir, 'blobs'));
  const found = await checkBlobStore(configOf(dir));
  assert.is(found.level, 'ok', found.message);
  assert.match(found.message, /blobs can be written and read, \d+ MiB are free$/);
  const broken = createTempDirectory().dir;
  writeFileSync(join(broken, 'blobs'), '');
  const { level, message } = await checkBlobStore(configOf(broken));
  assert.is(level, 'fail');
  assert.match(message, /cannot be written to: (ENOTDIR|EEXIST)/);
});

test('a directory of the file store counts as degraded while less than 64 MiB of its disk are free', async () => {
  const { dir } = createTempDirectory();
  const blobs = join(dir, 'blobs');
  mkdirSync(blobs);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=80m', 'tmpfs', blobs], { stdio: 'ignore' });
  } catch {
    return console.log('skipped, because mounting a file system is not allowed here: a file store on a small disk');
  }
  afterTest(() => void execFileSync('umount', ['-l', blobs]));
  assert.is((await checkBlobStore(configOf(dir))).level, 'ok');
  writeFileSync(join(blobs, 'other'), new Uint8Array(20 * 2 ** 20));
  const { level, message } = await checkBlobStore(configOf(dir));
  assert.is(level, 'fail', message);
  assert.match(message, /only \d+ MiB are free in .*; at least 64 MiB are needed/);
});

test('if an object store refuses the key, the region or the bucket, doctor reports the error code of the object store', async () => {
  const server = await startS3Server();
  const { dir } = createTempDirectory();
  const messageOf = async (url: string): Promise<string> => (await checkBlobStore(configOf(dir, url))).message;
  assert.is(await messageOf(server.url()), 'the bucket contents can be written, read and listed');
  assert.match(await messageOf(server.url().replace('AKIDEXAMPLE', 'AKIDOTHER')), 'InvalidAccessKeyId');
  assert.match(await messageOf(server.url().replace('eu-test-1', 'eu-test-2')), 'AuthorizationHeaderMalformed');
  assert.match(await messageOf(server.url().replace('/contents', '/missing')), 'NoSuchBucket');
});

test('doctor reports a failure if uploads to the bucket cannot be prepared in the data directory', async () => {
  const server = await startS3Server();
  const { dir } = createTempDirectory();
  writeFileSync(join(dir, 'blob-drafts'), '');
  const { level, message } = await checkBlobStore(configOf(dir, server.url()));
  assert.is(level, 'fail');
  assert.match(message, /blob-drafts, which holds files while they are stored, cannot be written to: (ENOTDIR|EEXIST)/);
});

test('while the file store does not work, the health check reports a failure with its reason', async () => {
  const { dir } = createTempDirectory();
  const broken = join(dir, 'file');
  writeFileSync(broken, '');
  assert.is(await createBlobHealth(openDirectoryPlace(join(dir, 'blobs')))(), null);
  const failure = createBlobHealth(openDirectoryPlace(broken));
  await eventually('the failed probe is known', async () => (await failure()) !== null);
  assert.match((await failure())!, /cannot be written to: (ENOTDIR|EEXIST)/);
  assert.is(await createBlobHealth(null)(), null);
});

test.run();
