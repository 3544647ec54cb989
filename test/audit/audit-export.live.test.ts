// limit: 120
import { createHash, randomUUID } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import pg from 'pg';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { requestMaintenance, requestState } from '../../infra/projector/maintenance-requests.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import type { Reads } from '../../projections/read-model.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { startProjectionPlatform, waitForProjection, waitUntil } from '../fixtures/live-projections.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { freshDatabase } from '../fixtures/test-services.ts';

const LINES = 20_000;
const BATCH = 500;
const MEBI = 2 ** 20;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
/**
 * Returns the memory in use after garbage collection, in bytes. It collects twice, with one turn of the event loop in
 * between, because Node frees memory outside of the heap only in a later turn.
 */
const memoryInUse = async (): Promise<number> => {
  collect();
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

// All tests of this file use one platform, behind a real HTTP server, because it takes long to fill its audit log. A worker
// fills the table of the audit log in a real database.

const p = await createTestPlatform();
const databaseUrl = await freshDatabase();
const { reads, close: closeProjections } = await startProjectionPlatform(p.log, databaseUrl, [audit]);
/** `pages` counts the pages that are read from the database. `before` is called before each read of a page. */
const watched = { pages: 0, before: async (_: number): Promise<void> => {} };

const watchReads = (): void => {
  const own = { ...p.reads };
  Object.assign(p.reads, {
    page: async (...query: Parameters<Reads['page']>) => {
      if (!audit.tables.some(({ name }) => name === query[0].table.name)) return own.page(...query);
      await watched.before(++watched.pages);
      return reads.page(...query);
    },
    passed: (name: string, token: string, ms?: number) => (name === audit.name ? reads : own).passed(name, token, ms),
  });
};

const fillAuditLog = async (lines: number): Promise<void> => {
  for (let created = 0; created < lines; created += BATCH) {
    const meta = { tenant: p.tenant_id, actor: { kind: 'system', id: 'test' }, at: new Date().toISOString(), v: 1 } as const;
    const events = Array.from({ length: Math.min(BATCH, lines - created) }, (_, index) => ({
      id: randomUUID(),
      type: 'SuperAdminRead',
      data: { what: `GET ${'x'.repeat(500)} ${created + index}` },
      meta,
    }));
    await p.log.append(`visit-${p.tenant_id}.made${created}`, 'none', events);
  }
  await waitForProjection(reads, p.log, audit.name);
};

watchReads();
await fillAuditLog(LINES);
const server = await listen(p.app, { host: '127.0.0.1', port: 0 });

const open = (query = ''): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const path = `${p.tenant}/audit-logs/export?${query}`;
    get({ host: '127.0.0.1', port: server.port, path, agent: false, headers: { authorization: `Bearer ${p.key}` } }, resolve).on(
      'error',
      reject,
    );
  });

/** Sets what is called before each read of a page, and counts the pages from 0. */
const watchFromHere = (before: (page: number) => Promise<void> = async () => {}): void => void Object.assign(watched, { pages: 0, before });

const digestOf = async (answer: IncomingMessage) => {
  const digest = createHash('sha256');
  let lines = 0;
  for await (const chunk of answer) {
    digest.update(chunk);
    for (const byte of chunk as Buffer) if (byte === 10) lines++;
  }
  return { lines, digest: digest.digest('hex') };
};

const rebuildAuditLog = async (): Promise<void> => {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  const id = await requestMaintenance(pool, 'rebuild', audit.name);
  const done = await waitUntil(
    'the rebuild',
    () => requestState(pool, id),
    (state) => state?.done_at != null,
    60,
  ).finally(() => pool.end());
  assert.is((done!.outcome as { promoted: boolean }).promoted, true);
};

test('the memory for an export of 20,000 audit log entries does not depend on their number; the bytes of the export are the same after new events and a rebuild', async () => {
  const weights: number[] = [];
  watchFromHere(async (page) => void (page >= 40 && page % 10 === 0 && weights.push(await memoryInUse())));
  const answer = await open();
  const position = answer.headers['consistency-token'] as string;
  const first = await digestOf(answer);
  assert.ok(first.lines > LINES, `${first.lines} lines`);
  assert.ok(watched.pages > 100, `${watched.pages} pages`);
  assert.ok(weights.length >= 6);
  // Ignore the first measurement, because it includes memory for code that Node compiles while the first pages are
  // read.
  const [, settled = 0, ...later] = weights;
  assert.ok(Math.max(...later) - settled < 4 * MEBI, weights.map((one) => (one / MEBI).toFixed(1)).join(' '));
  watchFromHere();
  await p.send('POST', `${p.tenant}/agents`, { body: { name: 'New', slug: 'new' } });
  await p.waitForProjections();
  assert.equal(await digestOf(await open(`to_position=${position}`)), first, 'after new events');
  const [, during] = await Promise.all([rebuildAuditLog(), digestOf(await open(`to_position=${position}`))]);
  assert.equal(during, first, 'while it was rebuilt');
  assert.equal(await digestOf(await open(`to_position=${position}`)), first, 'after the rebuild');
});

test('an audit log export reads pages from the database only as fast as the client reads the response, and stops when the client disconnects', async () => {
  watchFromHere();
  const stalled = await open();
  stalled.pause();
  let read = -1;
  for (let waits = 0; read !== watched.pages && waits < 20; waits++) {
    read = watched.pages;
    await sleep(400);
  }
  assert.is(watched.pages, read, 'no page is read while the client reads nothing');
  assert.ok(read < 80, `${read} pages of some 100 fit into the sockets' buffers`);
  stalled.destroy();
  await sleep(300);
  const left = watched.pages;
  assert.ok(left <= read + 1, `${left} pages after ${read}`);
  await sleep(300);
  assert.is(watched.pages, left);
  assert.ok((await digestOf(await open())).lines > LINES, 'the next export is complete');
});

test('if an audit log export fails after its first byte, the connection is aborted; if it fails before, the response is a problem document', async () => {
  for (const failing of [2, 3, 7]) {
    watchFromHere(async (page) => {
      if (page === failing) throw new Error('the database went away');
    });
    const answer = await open().catch((error: NodeJS.ErrnoException) => error);
    if (!('statusCode' in answer)) {
      assert.is((answer as NodeJS.ErrnoException).code, 'ECONNRESET');
      continue;
    }
    assert.is(answer.statusCode, 200);
    const ended = await digestOf(answer).then(
      () => 'complete',
      (error: NodeJS.ErrnoException) => error.code,
    );
    assert.equal([ended, answer.complete], ['ECONNRESET', false], `page ${failing}`);
  }
  watchFromHere(async (page) => {
    if (page === 1) throw new Error('at once');
  });
  const refused = await open();
  assert.is(refused.statusCode, 500);
  assert.is(refused.headers['content-type'], 'application/problem+json');
});

test("with Postgres, the audit log of the platform lists the platform's entries, and can be filtered by actor", async () => {
  watchFromHere();
  const actionsOf = async (path: string) => {
    const { status, body, text } = await p.send('GET', path);
    assert.is(status, 200, text);
    return (body as { action: string; tenant_id: string | null }[]).map(({ action, tenant_id }) => `${action} ${tenant_id}`);
  };
  const platform = await actionsOf('/admin/audit-logs?limit=200');
  assert.ok(platform.includes(`tenant.created ${p.tenant_id}`) && platform.includes('model.registered null'), platform.join());
  assert.not.ok(platform.some((line) => line.startsWith('super_admin.read')));
  await p.send('POST', `/admin/tenants/${p.tenant_id}/break-glass`, { body: { reason: 'a look', minutes: 5 } });
  assert.equal([...new Set(await actionsOf(`${p.tenant}/audit-logs?actor=test`))], [`super_admin.read ${p.tenant_id}`]);
  assert.ok(watched.pages >= 2);
});

afterLastTest(async () => {
  await server.close();
  await closeProjections();
  await p.close();
});

test.run();
