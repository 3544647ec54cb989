import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import * as assert from 'uvu/assert';
import { buildKey } from '../../domain/identity/api-key-format.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { openSignInMethods } from '../../infra/oidc/sign-in.ts';
import { openApplicationCache } from '../../infra/platform/application-cache.ts';
import { createPlatform } from '../../infra/platform/create-platform.ts';
import { seed } from '../../infra/processes/seed.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { CLIENT, startIssuer } from '../fixtures/oidc-issuer.ts';
import { openReadModels } from '../fixtures/read-models.ts';
import { startStore } from '../fixtures/store-process.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const WITHIN_MS = 1_000;

/** Wraps a log so that it counts the reads of streams. `reads` returns the count. */
const countingReads = (log: Log): { readonly log: Log; readonly reads: () => number } => {
  let reads = 0;
  const read: Log['read'] = (...asked) => {
    reads++;
    return log.read(...asked);
  };
  return { log: { ...log, read }, reads: () => reads };
};

/**
 * Starts one API process for each connection in `logs`, which all lead to the same log. All processes accept the tokens
 * of one issuer.
 */
const startProcesses = async (logs: readonly Log[]) => {
  const issuer = await startIssuer();
  afterTest(issuer.close);
  const p = await createTestPlatform();
  afterTest(p.close);
  const logger = pino({ level: 'silent' });
  const { publicUrl } = p.services;
  const config = { oidcIssuer: issuer.url, oidcAudience: CLIENT.id };
  const { reads } = await openReadModels(logs[0]!);
  const processes = [];
  for (const log of logs) {
    const cache = openApplicationCache(log);
    await cache.start();
    const signIn = await openSignInMethods(config, { publicUrl, vault: p.vault, logger });
    const { app, close, systemContext } = createPlatform({ ...p.services, log, cache, reads, signIn });
    afterTest(async () => {
      await close();
      await cache.close();
    });
    const send = (method: string, path: string, key: string, body?: object): Promise<Response> =>
      Promise.resolve(
        app.request(path, {
          method,
          headers: { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
          ...(body ? { body: JSON.stringify(body) } : {}),
        }),
      );
    processes.push({ send, systemContext, readMe: async (token: string) => (await send('GET', '/me', token)).status });
  }
  let admin = '';
  await seed(logs[0]!, processes[0]!.systemContext(), undefined, ({ key }) => {
    admin = key;
  });
  return { issuer, processes, admin };
};

test('requests of a user who is not allowed to sign in do not read the event store, whether the user is registered or not', async () => {
  const { log, reads } = countingReads(memoryLog());
  const { issuer, processes, admin } = await startProcesses([log]);
  const [{ readMe, send }] = processes as [(typeof processes)[number]];
  const account = await send('POST', '/admin/allowed-accounts', admin, { email: 'left@example.com' });
  const left = await issuer.sign({ email: 'left@example.com' });
  assert.is(await readMe(left), 200);
  assert.is((await send('DELETE', `/admin/allowed-accounts/${((await account.json()) as { id: string }).id}`, admin)).status, 204);
  for (const token of [left, await issuer.sign({ email: 'stranger@example.com' })]) {
    assert.is(await readMe(token), 403);
    const before = reads();
    for (let index = 0; index < 100; index++) assert.is(await readMe(token), 403);
    assert.is(reads() - before, 0);
  }
});

test('each request with a guessed API key reads the event store once, so that the response time does not reveal which keys exist', async () => {
  const { log, reads } = countingReads(memoryLog());
  const { processes } = await startProcesses([log]);
  const guess = buildKey('abcdefgh', 'x'.repeat(32));
  for (let index = 0; index < 5; index++) {
    const before = reads();
    assert.is(await processes[0]!.readMe(guess), 401);
    assert.is(reads() - before, 1);
  }
});

/**
 * Sends all requests again and again, until every one of them gets this status in the same round or a time limit has
 * passed. @returns the elapsed milliseconds
 */
const untilAll = async (requests: readonly (() => Promise<number>)[], status: number): Promise<number> => {
  const startedAt = performance.now();
  for (;;) {
    const found = await Promise.all(requests.map((request) => request()));
    const ms = performance.now() - startedAt;
    if (found.every((one) => one === status) || ms > 5 * WITHIN_MS) return ms;
    await sleep(1);
  }
};

test('with a real event store, allowing and disallowing an e-mail address takes effect in every process within a second', async () => {
  const store = await startStore();
  afterTest(store.end);
  const logs = [openLog(store.url), openLog(store.url)];
  for (const log of logs) afterTest(log.close);
  const { issuer, processes, admin } = await startProcesses(logs);
  const { send } = processes[0]!;
  const token = await issuer.sign();
  const requests = processes.map((process) => () => process.readMe(token));
  const assertSoon = async (status: number, what: string) => {
    const ms = await untilAll(requests, status);
    assert.ok(ms <= WITHIN_MS, `${what}: ${ms} ms`);
  };
  await assertSoon(403, 'a stranger');
  for (const round of ['first', 'again', 'and again']) {
    const account = await send('POST', '/admin/allowed-accounts', admin, { email: 'somebody@example.com' });
    assert.is(account.status, 201);
    await assertSoon(200, `allowed ${round}`);
    await send('DELETE', `/admin/allowed-accounts/${((await account.json()) as { id: string }).id}`, admin);
    await assertSoon(403, `disallowed ${round}`);
  }
});

test.run();
