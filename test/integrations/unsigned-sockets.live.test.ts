import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { openLog } from '../../infra/eventstore/client.ts';
import { listen } from '../../infra/http/listen.ts';
import { loadFactor, repeatIfBusy } from '../fixtures/load-factor.ts';
import { startStore } from '../fixtures/store-process.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';
import { sendUnsignedBodies, silentBodies, slowBodies, type UnsignedBody, unfinishedBodies } from '../fixtures/unsigned-sockets.ts';
import { createWebhookPlatformOver, sign } from '../fixtures/webhook-platform.ts';

const ATTACK_MS = 6_000;
const PAUSE_MS = 1_000;
/** The minimum number of deliveries of each sender. */
const MIN_SENT = 3;
const SIZES = [920_000, 2_000_000];

/** Starts a platform that listens on a port and uses a real event store. It has integrations in two tenants. */
const startPlatform = async () => {
  const store = await startStore();
  const log = openLog(store.url);
  afterTest(log.close);
  const platform = await createWebhookPlatformOver(log);
  afterTest(platform.close);
  const { port, close } = await listen(platform.app, { host: '127.0.0.1', port: 0 });
  afterTest(close);
  return { ...platform, port, foreignHook: await platform.connectInOtherTenant() };
};

type Platform = Awaited<ReturnType<typeof startPlatform>>;

/** Sends a signed body of `size` bytes. @returns the status of the response, or 0 if the connection broke */
const deliver = async ({ port, hook }: Platform, id: string, size: number): Promise<number> => {
  const body = `"${'x'.repeat(size - 2)}"`;
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'push',
    'x-github-delivery': id,
    'x-hub-signature-256': sign(body),
  };
  const sent = fetch(`http://127.0.0.1:${port}/hooks/inbound/${hook}`, { method: 'POST', headers, body });
  return sent.then(
    ({ status }) => status,
    () => 0,
  );
};

/**
 * Sends signed deliveries during an attack. There are four senders; each waits for a response before it sends its next
 * delivery. Every delivery must be accepted. On a busy machine, at most half of them may be refused at first; then the
 * sender retries, as providers do.
 */
const deliverDuring = async (platform: Platform, bodies: readonly UnsignedBody[], hook: string): Promise<void> => {
  const attack = sendUnsignedBodies(platform.port, `/hooks/inbound/${hook}`, bodies);
  afterTest(attack.close);
  await sleep(500);
  const end = Date.now() + ATTACK_MS;
  let [all, refused, hasFailed] = [0, 0, false];
  const send = async (sender: number): Promise<void> => {
    for (let sent = 0; !hasFailed && (sent < MIN_SENT || Date.now() < end); sent++) {
      const deliverThis = () => deliver(platform, `d-${sender}-${sent}`, SIZES[sent % SIZES.length]!);
      all++;
      const status = await deliverThis();
      if (status !== 202) {
        refused++;
        assert.ok(loadFactor() > 1, `${status} on an idle machine`);
        await repeatIfBusy(async () => assert.ok([200, 202].includes(await deliverThis())));
      }
      await sleep(PAUSE_MS);
    }
  };
  const fail = (error: unknown): never => {
    hasFailed = true;
    throw error;
  };
  await Promise.all([0, 1, 2, 3].map((sender) => send(sender).catch(fail)));
  attack.close();
  assert.ok(refused <= all / 2, `${refused} of ${all} deliveries were refused at first`);
};

const attacks = { 'send nearly nothing': silentBodies, 'lack their last byte': unfinishedBodies, 'become slow': slowBodies };

for (const [what, bodies] of Object.entries(attacks))
  test(`while a tenant gets unsigned large bodies that ${what}, every signed large delivery of other tenants is accepted`, async () => {
    const platform = await startPlatform();
    await deliverDuring(platform, bodies, platform.foreignHook);
  });

test('while unsigned large bodies stall, signed deliveries are accepted, even deliveries to the same integration', async () => {
  const platform = await startPlatform();
  await deliverDuring(platform, silentBodies, platform.hook);
});

test('a delivery with a large body that arrives too slowly gets 408 within a few seconds, and its connection is closed', async () => {
  const { port, hook } = await startPlatform();
  const socket = connect(port, '127.0.0.1');
  afterTest(() => socket.destroy());
  let answer = '';
  let answeredAt = 0;
  socket.setEncoding('utf8').on('data', (text: string) => {
    answeredAt ||= Date.now();
    answer += text;
  });
  const startedAt = Date.now();
  socket.write(
    `POST /hooks/inbound/${hook} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2000000\r\n\r\n{`,
  );
  await once(socket, 'close');
  assert.match(answer, /^HTTP\/1\.1 408 .*\r\n/);
  assert.match(answer, /"code":"too_slow"/);
  assert.ok(answeredAt - startedAt < 6_000 * loadFactor(), `${answeredAt - startedAt} ms`);
  // The connection stays open for some seconds, so that the client can read the answer.
  assert.ok(Date.now() - answeredAt < 6_000 * loadFactor(), `${Date.now() - answeredAt} ms`);
});

test.run();
