import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { createSessionPlatform } from '../fixtures/session-platform.ts';

const MEBIBYTE = 1024 * 1024;
const FILE_BYTES = 25 * MEBIBYTE;
const MAX_GROWTH_BYTES = 200 * MEBIBYTE;
const CLIENT = join(import.meta.dirname, '../fixtures/upload-client.mjs');

const p = await createSessionPlatform();
const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
const session = await p.startSession();

/** Lets another process send uploads at the same time. Returns how often each status or error occurred. */
const upload = async (count: number, bytes: number, abortAfter = 0): Promise<Record<string, number>> => {
  const values = [server.port, `${session}/attachments`, p.agent.runner, count, bytes, abortAfter].map(String);
  return JSON.parse((await promisify(execFile)(process.execPath, [CLIENT, ...values])).stdout);
};
const countFiles = () => p.eventsOf('SessionAttachmentAdded').length;

/** The names of all stored contents and drafts. */
const storedFiles = (): string[] =>
  readdirSync(p.dataDirectory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath.includes('blob'))
    .map(({ name }) => name);

test('while 200 files of 25 MiB are uploaded at once, memory grows by less than 200 MiB, each upload is stored or gets 503, and other requests are answered', async () => {
  await upload(3, MEBIBYTE);
  const before = process.memoryUsage().rss;
  const stored = countFiles();
  let [most, slowest] = [before, 0];
  const sample = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  let isDone = false;
  const reading = (async () => {
    while (!isDone) {
      const start = performance.now();
      assert.is((await fetch(`http://127.0.0.1:${server.port}/me`, { headers: { authorization: `Bearer ${p.key}` } })).status, 200);
      slowest = Math.max(slowest, performance.now() - start);
    }
  })();
  const results = await upload(200, FILE_BYTES);
  isDone = true;
  await reading;
  clearInterval(sample);
  console.log(
    `${JSON.stringify(results)}; memory grew by ${Math.round((most - before) / MEBIBYTE)} MiB; slowest read ${Math.round(slowest)} ms`,
  );
  assert.is(countFiles() - stored, results[201]);
  assert.ok(results[201]! >= 2);
  // A server that refuses an upload closes the connection, which some clients notice first.
  assert.equal(
    Object.keys(results).filter((result) => !['201', '503', 'EPIPE', 'ECONNRESET'].includes(result)),
    [],
  );
  assert.ok(most - before < MAX_GROWTH_BYTES, `memory grew by ${(most - before) / MEBIBYTE} MiB`);
});

test('uploads that are aborted halfway leave neither a content, nor a temporary file, nor an event', async () => {
  const [events, files] = [countFiles(), storedFiles().length];
  const results = await upload(6, 5 * MEBIBYTE, 2 * MEBIBYTE);
  assert.not.ok(results[201]);
  for (let tries = 0; storedFiles().length > files && tries < 50; tries++) await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal([countFiles(), storedFiles().length], [events, files]);
});

test('the platform stops without an error', async () => {
  await server.close();
  await p.close();
});

test.run();
