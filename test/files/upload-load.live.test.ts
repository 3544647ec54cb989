// limit: 300 s for this file (test/run.ts)
import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { eventually } from '../fixtures/child-process.ts';
import { loadFactor, repeatIfBusy } from '../fixtures/load-factor.ts';
import { createSessionPlatform } from '../fixtures/session-platform.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';
import { skillArchive } from '../fixtures/zip-archive.ts';

const MEBIBYTE = 1024 * 1024;
const FILE_BYTES = 25 * MEBIBYTE;
const MAX_GROWTH_BYTES = 200 * MEBIBYTE;
/** The number of uploads at once. Their contents take several times the memory that the platform may take for them. */
const UPLOADS = 80;
/**
 * The upper limits for the response times of small deliveries on an idle machine: the median, the 99th percentile and
 * the slowest. They grow with the load of the machine.
 */
const MAX_TIMES_MS = [25, 250, 800] as const;
const CLIENT = join(import.meta.dirname, '../fixtures/upload-client.mjs');

const p = await createSessionPlatform();
const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
const session = await p.startSession();

type Upload = {
  readonly path: string;
  readonly key: string;
  readonly count: number;
  readonly bytes: number;
  readonly abortAfter?: number;
  /** The path of a file to upload instead of texts. */
  readonly file?: string;
};

/** Sends `count` concurrent uploads from another process. @returns how often each status or error occurred */
const upload = async ({ path, key, count, bytes, abortAfter = 0, file }: Upload): Promise<Record<string, number>> => {
  const values = [server.port, path, key, count, bytes, abortAfter, 'upload', ...(file ? [file] : [])].map(String);
  return JSON.parse((await promisify(execFile)(process.execPath, [CLIENT, ...values])).stdout);
};
const attachments = { path: `${session}/attachments`, key: p.agent.runner };
const integration = await (async () => {
  const body = { provider: 'github', agent_id: p.agent.id, label: 'Small deliveries', secret: SECRET };
  const made = await p.send('POST', `${p.tenant}/webhook-integrations`, { body });
  assert.is(made.status, 201, made.text);
  return (made.body as { id: string }).id;
})();

/** Sends a small delivery. @returns the milliseconds until the response is complete */
const deliver = async (number: number): Promise<number> => {
  const body = JSON.stringify({ number });
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'push',
    'x-github-delivery': randomUUID(),
    'x-hub-signature-256': sign(body),
  };
  const start = performance.now();
  const response = await fetch(`http://127.0.0.1:${server.port}/hooks/inbound/${integration}`, { method: 'POST', headers, body });
  assert.is(response.status, 202);
  await response.arrayBuffer();
  return performance.now() - start;
};

const countFiles = () => p.eventsOf('SessionAttachmentAdded').length;

/** Returns the names of all files in the file store, including unfinished uploads. */
const storedFiles = (): string[] =>
  readdirSync(p.dataDirectory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath.includes('blob'))
    .map(({ name }) => name);

/**
 * Sends all uploads at once, and small deliveries meanwhile. Checks the growth of the memory and the response times of
 * the deliveries. @returns how often each status occurred
 */
const loadWith = async (of: Omit<Upload, 'count'>, statuses: readonly string[]): Promise<Record<string, number>> => {
  await upload({ ...of, count: 3 });
  const before = process.memoryUsage().rss;
  let most = before;
  const times: number[] = [];
  const sample = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  let isDone = false;
  const deliverUntilDone = async (): Promise<void> => {
    while (!isDone) times.push(await deliver(times.length));
  };
  const uploading = upload({ ...of, count: UPLOADS }).finally(() => {
    isDone = true;
  });
  const [results] = await Promise.all([uploading, deliverUntilDone()]).finally(() => clearInterval(sample));
  times.sort((a, b) => a - b);
  const found = [0.5, 0.99, 1].map((share) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))]!));
  const [p50, p99, slowest] = found;
  const memory = `memory grew by ${Math.round((most - before) / MEBIBYTE)} MiB`;
  console.log(`${JSON.stringify(results)}; ${memory}; ${times.length} deliveries: p50 ${p50} ms, p99 ${p99} ms, slowest ${slowest} ms`);
  // EPIPE and ECONNRESET are allowed: when the server refuses an upload, it closes the connection, and some clients
  // notice this before they read the response.
  assert.equal(
    Object.keys(results).filter((result) => ![...statuses, '503', 'EPIPE', 'ECONNRESET'].includes(result)),
    [],
  );
  assert.ok(most - before < MAX_GROWTH_BYTES, memory);
  for (const [index, limit] of MAX_TIMES_MS.entries())
    assert.ok(found[index]! <= limit * loadFactor(), `small deliveries took ${found[index]} ms; the limit is ${limit} ms`);
  return results;
};

test('while 80 files of 25 MiB are uploaded, memory grows by less than 200 MiB, each upload is stored or gets 503, and small deliveries are fast', () =>
  repeatIfBusy(async () => {
    const stored = countFiles();
    const results = await loadWith({ ...attachments, bytes: FILE_BYTES }, ['201']);
    assert.is(countFiles() - stored - 3, results[201]);
    assert.ok(results[201]! >= 2);
  }));

test('while 80 files of 25 MiB are scanned, memory grows by less than 200 MiB, each is checked or gets 503, and small deliveries are fast', () =>
  repeatIfBusy(async () => {
    const scanned = p.eventsOf('FileScanned').length;
    const results = await loadWith({ path: `${p.tenant}/files/scan`, key: p.key, bytes: FILE_BYTES }, ['200']);
    assert.is(p.eventsOf('FileScanned').length - scanned - 3, results[200]);
    assert.ok(p.eventsOf('FileScanned').every(({ data }) => (data as { verdict: string }).verdict === 'clean'));
  }));

test('while 80 skills of 9 MiB are imported, memory grows by less than 200 MiB, each is checked or gets 503, and small deliveries are fast', () =>
  repeatIfBusy(async () => {
    const file = join(p.dataDirectory, 'skill.zip');
    writeFileSync(file, skillArchive('large', [{ name: 'data.bin', content: randomBytes(9 * MEBIBYTE), stored: true }]));
    // The first import takes the slug, so the others are refused after the archive was checked.
    const results = await loadWith({ path: `${p.tenant}/skills/import`, key: p.key, bytes: 0, file }, ['201', '409']);
    assert.ok(results[409]! >= 2);
  }));

test('uploads that are aborted halfway leave no content, no temporary file and no event', async () => {
  const [events, files] = [countFiles(), storedFiles()];
  const results = await upload({ ...attachments, count: 6, bytes: 5 * MEBIBYTE, abortAfter: 2 * MEBIBYTE });
  assert.not.ok(results[201]);
  // The uploads of the tests before may have left temporary files, which disappear meanwhile.
  await eventually('no file of them is left', () => storedFiles().every((name) => files.includes(name)));
  assert.is(countFiles(), events);
});

afterLastTest(async () => {
  await server.close();
  await p.close();
});

test.run();
