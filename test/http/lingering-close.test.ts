import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { Hono } from 'hono';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readBytes } from '../../api/http/json-body.ts';
import { createLingeringClose, type LingeringLimits } from '../../infra/http/lingering-close.ts';
import { listen } from '../../infra/http/listen.ts';
import { shareRefusals } from '../../infra/threads/share-refusals.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { sendSlowly, statusOf } from '../fixtures/slow-sender.ts';

const MEBIBYTE = 1024 * 1024;
const HEAD = ['Host: annals.test'];

const app = new Hono()
  .post('/unread', (c) => c.text('no', 401))
  .post('/begun', async (c) => {
    await c.req.raw.body!.getReader().read();
    return c.text('no', 403);
  })
  .post('/limited', (c) =>
    readBytes(c.req.raw, 1_000).then(
      () => c.text('yes'),
      () => c.text('no', 413),
    ),
  );
const server = await listen(app, { host: '127.0.0.1', port: 0 });
afterLastTest(() => server.close());

const REFUSED = { unread: 401, begun: 403, limited: 413 };

test('a client that sends the whole body before it reads gets the refusal, however much of the body was read', async () => {
  const body = new Uint8Array(2 * MEBIBYTE);
  const cases = Object.entries(REFUSED).flatMap(([path, status]) =>
    [false, true].flatMap((isChunked) =>
      ['keep-alive', 'close'].map((connection) => ({ path, status, isChunked, head: `Connection: ${connection}` })),
    ),
  );
  const answers = cases.map(({ path, isChunked, head }) =>
    sendSlowly({ port: server.port, head: [`POST /${path} HTTP/1.1`, ...HEAD, head], body, isChunked }),
  );
  assert.equal(
    (await Promise.all(answers)).map(statusOf),
    cases.map(({ status }) => `${status} close`),
  );
});

test('a client with fetch gets the refusal of a body of 1 to 66 MiB, and its next request succeeds', async () => {
  const bytes = new Uint8Array(66 * MEBIBYTE);
  for (const [size, path] of [
    ...([1, 26, 66] as const).map((each) => [each, 'limited'] as const),
    [40, 'unread'],
    [26, 'begun'],
  ] as const) {
    const init = { method: 'POST', body: bytes.subarray(0, size * MEBIBYTE) };
    const response = await fetch(`http://127.0.0.1:${server.port}/${path}`, init);
    assert.equal([response.status, response.headers.get('connection')], [REFUSED[path], 'close'], `${path}, ${size} MiB`);
    await response.text();
  }
});

test('a client that waits for 100 Continue gets the refusal', async () => {
  const head = ['POST /limited HTTP/1.1', ...HEAD, 'Expect: 100-continue'];
  assert.is(statusOf(await sendSlowly({ port: server.port, head, body: new Uint8Array(MEBIBYTE) })), '413 close');
});

test('a client that is still sending gets the refusal of a body that cannot be parsed', async () => {
  const rest = new Uint8Array(MEBIBYTE).fill(0x78);
  const head = ['POST /limited HTTP/1.1', ...HEAD, 'Transfer-Encoding: chunked', 'Content-Length: 5'];
  assert.is(statusOf(await sendSlowly({ port: server.port, head, body: rest })), '400 close');
});

test('a connection is used again if little of the body was missing', async () => {
  const socket = connect(server.port, '127.0.0.1');
  const request = 'POST /unread HTTP/1.1\r\nHost: annals.test\r\nContent-Length: 3000\r\n\r\n';
  socket.write(request);
  const [first] = await once(socket, 'data');
  assert.is(statusOf(String(first)), '401');
  socket.end('x'.repeat(3_000) + request + 'x'.repeat(3_000));
  assert.is(statusOf((await socket.toArray()).join('')), '401');
});

/** Serves 401 with these limits. */
const serveLimited = async (limits: Partial<LingeringLimits>) => {
  const lingering = createLingeringClose(limits);
  const limited = createServer((incoming, outgoing) => {
    lingering.watch(incoming, outgoing);
    lingering.announce(incoming, outgoing);
    outgoing.writeHead(401).end('no');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => limited.once('listening', resolve));
  afterLastTest(() => void limited.close());
  return (limited.address() as AddressInfo).port;
};

/** Opens a connection that keeps sending; resolves with how many bytes it could send until the server closed it. */
const sendUntilClosed = (port: number, bytes: number): Promise<number> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const timer = setInterval(() => socket.write(new Uint8Array(bytes)), 10);
    socket.resume().on('error', () => {});
    socket.on('close', () => {
      clearInterval(timer);
      resolve(socket.bytesWritten);
    });
    socket.write('POST / HTTP/1.1\r\nHost: annals.test\r\nContent-Length: 999999999\r\n\r\n');
  });

test('a client that does not stop sending is disconnected after the limit of time, and after the limit of bytes', async () => {
  assert.ok((await sendUntilClosed(await serveLimited({ maxTimeMs: 200 }), 1)) < 10_000);
  const sent = await sendUntilClosed(await serveLimited({ maxBytes: MEBIBYTE, maxTimeMs: 60_000 }), 65_536);
  assert.ok(sent > MEBIBYTE, `${sent}`);
});

test('an address has at most half of the connections whose body is dropped, and further ones are closed at once', async () => {
  const port = await serveLimited({ maxConnections: 4, maxTimeMs: 600 });
  const refusedBefore = shareRefusals('closing-connections');
  const order: number[] = [];
  await Promise.all([0, 1, 2, 3].map((index) => sendUntilClosed(port, 1).then(() => order.push(index))));
  assert.equal(order.slice(0, 2).sort(), [2, 3]);
  assert.is(shareRefusals('closing-connections') - refusedBefore, 2);
  await sendUntilClosed(port, 1);
  assert.is(shareRefusals('closing-connections') - refusedBefore, 2, 'a closed connection gives its place back');
});

test.run();
