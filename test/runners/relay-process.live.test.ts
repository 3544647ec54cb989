// limit: 120 s for this file (test/run.ts)
import { existsSync, readFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { COMPILE_CACHE } from '../../infra/compile-cache.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { manager, STREAM } from '../../infra/nats/jetstream.ts';
import { createRelayLag } from '../../infra/relay/relay-lag.ts';
import { startRelayProcess } from '../../infra/relay/relay-process.ts';
import { startProgram } from '../fixtures/child-process.ts';
import { appendDeliveries, eventIdOf } from '../fixtures/generated-log.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { type NatsServer, startNatsServer, waitUntil } from '../fixtures/nats-server.ts';
import { startStore } from '../fixtures/store-process.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const BLOCKED_MS = 1_500;
const now = (): string => new Date().toISOString();

/** Blocks the event loop of this thread for `ms` milliseconds, to simulate a slow projection. */
const blockEventLoop = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

const recordingLogger = () => {
  const warnings: string[] = [];
  const ignore = (): void => {};
  return { warnings, logger: { debug: ignore, info: ignore, warn: (_: object, text: string) => void warnings.push(text), error: ignore } };
};

const startServices = async () => {
  const [store, broker] = await Promise.all([startStore(), startNatsServer()]);
  const log = openLog(store.url);
  afterTest(async () => {
    await log.close();
    await broker.close();
    await store.end();
  });
  const { natsUrl, natsAccountSeed } = broker.address;
  const addresses = { natsUrl, natsAccountSeed, publicUrl: 'http://127.0.0.1', eventstoreUrl: store.url };
  return { log, broker, task: { ...addresses, masterKeyFile: '' } };
};

const messagesOf = async (broker: NatsServer): Promise<{ id: string; at: number }[]> => {
  const { streams } = await manager(await broker.connect());
  const { state } = await streams.info(STREAM);
  const messages = [];
  for (let seq = 1; seq <= state.last_seq; seq++) {
    const { header, time } = await streams.getMessage(STREAM, { seq });
    messages.push({ id: header.get('Nats-Msg-Id'), at: time.getTime() });
  }
  return messages;
};

test('the relay publishes a delivery at once and reports its position, even while the event loop of the main process is blocked', async () => {
  const { log, broker, task } = await startServices();
  const { logger } = recordingLogger();
  const relay = startRelayProcess({ compileCache: COMPILE_CACHE, task, logger });
  afterTest(relay.close);
  await appendDeliveries(log, 0, 5, now());
  await waitUntil(() => relay.status().published === 5);
  await log.append('item-platform.a', 'none', [
    {
      id: crypto.randomUUID(),
      type: 'Happened',
      data: {},
      meta: { tenant: 'platform', actor: { kind: 'system', id: 'test' }, at: now(), v: 1 },
    },
  ]);
  await appendDeliveries(log, 5, 6, now());
  const blockedUntil = Date.now() + BLOCKED_MS;
  blockEventLoop(BLOCKED_MS);
  await waitUntil(() => relay.status().published === 6);
  const messages = await messagesOf(broker);
  assert.equal(
    messages.map(({ id }) => id),
    Array.from({ length: 6 }, (_, index) => eventIdOf(index)),
  );
  assert.ok(messages.at(-1)!.at < blockedUntil - BLOCKED_MS / 3, `${blockedUntil - messages.at(-1)!.at} ms before the end of the block`);
  assert.is(relay.status().state, 'relaying');
  const nats = await broker.connect();
  const lag = createRelayLag({ log, nats: () => nats, relay: () => relay });
  assert.equal(await lag(), { events: 0, seconds: 0 });
  await relay.close();
  assert.is(await relay.publishedThrough(), null);
});

test('if the process of the relay fails, the status gives the reason, and the process is started again until it works', async () => {
  const { log, broker, task } = await startServices();
  await appendDeliveries(log, 0, 3, now());
  const { logger, warnings } = recordingLogger();
  const failing = { ...task, eventstoreUrl: 'not a connection string' };
  const relay = startRelayProcess({ compileCache: COMPILE_CACHE, task: failing, logger });
  afterTest(relay.close);
  await waitUntil(() => warnings.length >= 2);
  assert.equal([...new Set(warnings)], ['the process of the relay has failed and is started again']);
  assert.is(relay.status().state, 'waiting');
  assert.match(relay.status().last_error!, /the process of the relay has failed: /);
  failing.eventstoreUrl = task.eventstoreUrl;
  await waitUntil(() => relay.status().published === 3);
  assert.is((await messagesOf(broker)).length, 3);
});

test('the process of the relay ends promptly if it is told to close before it has reached the broker', async () => {
  const { broker, task } = await startServices();
  await broker.kill();
  const { logger } = recordingLogger();
  const relay = startRelayProcess({ compileCache: COMPILE_CACHE, task, logger });
  await waitUntil(() => relay.status().last_error !== null);
  assert.match(relay.status().last_error!, /no connection to the message broker/);
  const startedAt = Date.now();
  await relay.close();
  assert.ok(Date.now() - startedAt < 8_000 * loadFactor(), `${Date.now() - startedAt} ms`);
});

/**
 * Returns the child processes of a process, each with the id of its session (in the sense of Linux). Works only on
 * Linux.
 */
const childrenOf = (pid: number): { pid: number; session: number }[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
    .split(' ')
    .filter(Boolean)
    .map((child) => ({
      pid: Number(child),
      session: Number(
        readFileSync(`/proc/${child}/stat`, 'latin1')
          .replace(/^.*\) /s, '')
          .split(' ')[3],
      ),
    }))
    .filter(({ pid: child }) => readFileSync(`/proc/${child}/cmdline`, 'latin1').includes('relay-main'));

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('the relay is in its own scheduling group, and is started again after it was killed', async () => {
  const { log, broker, task } = await startServices();
  const { logger, warnings } = recordingLogger();
  const relay = startRelayProcess({ compileCache: COMPILE_CACHE, task, logger });
  afterTest(relay.close);
  await appendDeliveries(log, 0, 1, now());
  await waitUntil(() => relay.status().published === 1);
  const [first] = childrenOf(process.pid);
  assert.is(first!.session, first!.pid);
  process.kill(first!.pid, 'SIGKILL');
  await waitUntil(() => warnings.length === 1);
  assert.match(relay.status().last_error!, /ended by SIGKILL/);
  await appendDeliveries(log, 1, 3, now());
  await waitUntil(() => relay.status().published === 2);
  assert.is((await messagesOf(broker)).length, 3);
  await relay.close();
  assert.equal(childrenOf(process.pid), []);
});

onLinux('the relay ends when its parent process is killed', async () => {
  const { task } = await startServices();
  const script = `
    import { startRelayProcess } from '${new URL('../../infra/relay/relay-process.ts', import.meta.url)}';
    const ignore = () => {};
    const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
    const relay = startRelayProcess({ compileCache: ${JSON.stringify(COMPILE_CACHE)}, task: ${JSON.stringify(task)}, logger });
    setInterval(() => relay.status().state === 'relaying' && console.log('relaying'), 20);`;
  const parent = startProgram(process.execPath, ['--input-type=module', '-e', script]);
  afterTest(parent.stop);
  await parent.waitForOutput(/relaying/);
  const [relay] = childrenOf(parent.child.pid!);
  parent.child.kill('SIGKILL');
  await waitUntil(() => !existsSync(`/proc/${relay!.pid}`));
});

test.run();
