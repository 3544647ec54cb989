// limit: 180 s for this file (test/run.ts); it tries a share of its cases
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { createMailThreads } from '../../infra/mail/mail-threads.ts';
import { createMessageReader } from '../../infra/mail/read-message.ts';
import { HOSTILE_MAILS } from '../fixtures/hostile-mails.ts';
import { loadFactor, repeatIfBusy } from '../fixtures/load-factor.ts';
import { openShare } from '../fixtures/share.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const share = openShare();
const MAX_LAG_MS = 400;
/** The message, and the thread with its limit. */
const MAX_GROWTH_MB = 300;
const CHUNK_BYTES = 65_536;
const logger = { warn: () => {} };
const ENVELOPE = { ip: '127.0.0.1', helo: 'mx.invalid', sender: '', mta: 'mail.test' };

async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    await nextLoopTurn();
    yield bytes.subarray(at, at + CHUNK_BYTES);
  }
}

const openIntake = (options: Partial<Parameters<typeof createMailThreads>[0]> = {}) => {
  const messages = createMessageReader();
  const { inspect, close } = createMailThreads({ logger, ...options });
  afterTest(async () => close());
  return async (owner: string, message: Buffer) => {
    const { raw, release } = await messages.read(owner, chunksOf(message));
    return inspect({ owner, raw, envelope: ENVELOPE }).finally(release);
  };
};

const codeOf = (done: Promise<unknown>): Promise<number> =>
  done.then(
    () => 250,
    (error: { responseCode: number }) => error.responseCode,
  );

/** Starts to watch the memory of the process. The returned function returns by how many MiB it has grown at most. */
const watchMemory = (): (() => number) => {
  const before = process.memoryUsage.rss();
  let most = before;
  const look = (): void => {
    most = Math.max(most, process.memoryUsage.rss());
  };
  const timer = setInterval(look, 20);
  return () => {
    clearInterval(timer);
    look();
    return Math.round((most - before) / 1024 / 1024);
  };
};

/** Sends a message, and asserts its code, how long the event loop is held, and the growth of the memory. */
const sendHostile = async (
  receive: ReturnType<typeof openIntake>,
  { name, code, build }: (typeof HOSTILE_MAILS)[number],
): Promise<void> => {
  const message = Buffer.from(build());
  const lag = monitorEventLoopDelay({ resolution: 10 });
  await nextLoopTurn();
  const stopWatch = watchMemory();
  lag.enable();
  const got = await codeOf(receive('a', message));
  lag.disable();
  const held = Math.round(lag.max / 1e6);
  const growth = stopWatch();
  console.log(`${name}: ${got}, event loop held for up to ${held} ms, ${growth} MiB`);
  assert.ok(growth < MAX_GROWTH_MB, `${name}: ${growth} MiB more memory`);
  assert.ok(code === null ? got !== 451 : got === code, `${name}: ${got}`);
  assert.ok(held < MAX_LAG_MS * loadFactor(), `${name}: the event loop was held for ${held} ms`);
};

test('no message blocks the event loop, whatever its lines, parts, levels and fields are', async () => {
  const receive = openIntake();
  await receive('a', Buffer.from('Subject: first\r\n\r\ntext'));
  const mails = share.casesOf(
    HOSTILE_MAILS,
    (mail) => mail.name,
    ({ code }) => String(code),
  );
  for (const mail of mails) await repeatIfBusy(() => sendHostile(receive, mail));
});

test.run();
