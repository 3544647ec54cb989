import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createMemoryPlatform } from '../fixtures/memory-platform.ts';

const MEBIBYTE = 1_048_576;
const CLIENT = join(import.meta.dirname, '../fixtures/upload-client.mjs');

const { p, newAgent, memoryOf } = await createMemoryPlatform();
const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
const path = `${memoryOf(await newAgent())}/import`;

/** Sends `count` concurrent imports from another process. @returns how often each status or error occurred */
const upload = async (count: number, bytes: number, abortAfter = 0): Promise<Record<string, number>> => {
  const values = [server.port, path, p.key, count, bytes, abortAfter, 'file'].map(String);
  return JSON.parse((await promisify(execFile)(process.execPath, [CLIENT, ...values])).stdout);
};
const countImports = () => p.eventsOf('MemoryImportStarted').length;

/** Returns the names of all files in the file store, including unfinished uploads. */
const storedFiles = (): string[] =>
  readdirSync(p.dataDirectory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath.includes('blob'))
    .map(({ name }) => name);

test('while 60 imports of 25 MiB are sent at once, memory grows by less than 200 MiB; each starts or gets 503', async () => {
  await upload(3, MEBIBYTE);
  const before = process.memoryUsage().rss;
  const started = countImports();
  let most = before;
  const sample = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  const results = await upload(60, 25 * MEBIBYTE);
  clearInterval(sample);
  console.log(`${JSON.stringify(results)}; memory grew by ${Math.round((most - before) / MEBIBYTE)} MiB`);
  assert.is(countImports() - started, results[202]);
  assert.ok(results[202]! >= 2);
  // When the server refuses an upload, it closes the connection, and some clients get this error before they read the
  // response.
  assert.equal(
    Object.keys(results).filter((result) => !['202', '503', 'EPIPE', 'ECONNRESET'].includes(result)),
    [],
  );
  assert.ok(most - before < 200 * MEBIBYTE, `memory grew by ${(most - before) / MEBIBYTE} MiB`);
});

test('imports that are aborted halfway leave no content, no temporary file and no event', async () => {
  const [events, files] = [countImports(), storedFiles().length];
  const results = await upload(6, 5 * MEBIBYTE, 2 * MEBIBYTE);
  assert.not.ok(results[202]);
  for (let tries = 0; storedFiles().length > files && tries < 50; tries++) await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal([countImports(), storedFiles().length], [events, files]);
});

afterLastTest(async () => {
  await server.close();
  await p.close();
});

test.run();
