import { type AddressInfo, createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { PROBLEMS } from '../../api/http/problem.ts';
import { refusalOfEgress } from '../../commands/egress-failure.ts';
import { EgressError } from '../../infra/egress/egress-error.ts';
import { createGuardedClient } from '../../infra/egress/guarded-client.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const MAX_BYTES = 100_000;
const IDLE_MS = 600;
const TOTAL_MS = 1_500;

const reply = (text: string) => (socket: Socket) => void socket.end(text);
const ok = (headers: string, body = '') => reply(`HTTP/1.1 200 OK\r\n${headers}\r\n\r\n${body}`);

/** Returns a function that sends a text once, and then sends `part` repeatedly until the connection is closed. */
const repeat = (text: string, part: string, delayMs: number) => (socket: Socket) => {
  socket.write(text);
  const timer = setInterval(() => socket.writable && socket.write(part), delayMs);
  socket.once('close', () => clearInterval(timer));
};

const chunk = `${(65_536).toString(16)}\r\n${'x'.repeat(65_536)}\r\n`;
const bomb = gzipSync(Buffer.alloc(50_000_000)).toString('latin1');

/**
 * The responses of a hostile server. Each has a description, a function that sends it, and the status of the error with
 * which the platform's request must fail.
 */
const ANSWERS: readonly (readonly [condition: string, send: (socket: Socket) => void, status: number])[] = [
  ['announces a huge body', ok('Content-Length: 99999999999'), 502],
  ['announces a body of one byte too many', ok(`Content-Length: ${MAX_BYTES + 1}`, 'x'.repeat(MAX_BYTES + 1)), 502],
  ['sends chunks without end', repeat('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', chunk, 1), 502],
  ['sends a body without length and end', repeat('HTTP/1.1 200 OK\r\n\r\n', 'x'.repeat(65_536), 1), 502],
  ['sends a gzip bomb', ok(`Content-Encoding: gzip\r\nContent-Length: ${Buffer.byteLength(bomb)}`, bomb), 502],
  ['sends a body that claims to be compressed with br', ok('Content-Encoding: br\r\nContent-Length: 4', 'abcd'), 502],
  ['names an unknown encoding', ok('Content-Encoding: gzip, gzip, gzip\r\nContent-Length: 1', 'x'), 502],
  ['never answers', () => undefined, 503],
  ['sends a status line only', (socket) => void socket.write('HTTP/1.1 200 OK\r\n'), 503],
  ['sends one byte of the headers at a time', repeat('HTTP/1.1 200 OK\r\nX-Slow: ', 'x', 50), 503],
  ['stops in the body', (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'), 503],
  ['sends one byte of the body at a time', repeat('HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n', 'x', 50), 503],
  ['closes at once', (socket) => void socket.end(), 503],
  ['resets the connection', (socket) => void socket.resetAndDestroy(), 503],
  ['closes within the headers', reply('HTTP/1.1 200 OK\r\nContent-Le'), 503],
  ['closes within the body', ok('Content-Length: 100', 'short'), 502],
  ['closes within a chunk', ok('Transfer-Encoding: chunked', 'ff\r\nshort'), 502],
  ['sends chunks with invalid sizes', ok('Transfer-Encoding: chunked', 'zz\r\nabc\r\n0\r\n\r\n'), 502],
  ['sends chunks with a huge size', ok('Transfer-Encoding: chunked', `${'f'.repeat(17)}\r\nabc\r\n0\r\n\r\n`), 502],
  ['sends two lengths', ok('Content-Length: 3\r\nContent-Length: 5', 'abcde'), 502],
  ['sends a negative length', ok('Content-Length: -1', 'abc'), 502],
  ['sends a length that is not a number', ok('Content-Length: many', 'abc'), 502],
  ['sends a length and chunks', ok('Content-Length: 3\r\nTransfer-Encoding: chunked', '3\r\nabc\r\n0\r\n\r\n'), 502],
  ['sends headers of 100 KB', ok(`X-Large: ${'x'.repeat(100_000)}`), 502],
  ['sends 10,000 headers', ok('X-Many: x\r\n'.repeat(10_000).trimEnd()), 502],
  ['sends a header name with a space', ok('Bad Name: x\r\nContent-Length: 0'), 502],
  ['sends a NUL in a header', ok('X-Nul: a\0b\r\nContent-Length: 0'), 502],
  ['does not speak HTTP', reply('SSH-2.0-OpenSSH_9.6\r\n'), 502],
  ['sends random bytes', (socket) => void socket.end(Buffer.from('16030100ff010000', 'hex')), 502],
  ['names an unknown version of HTTP', reply('HTTP/7.7 200 OK\r\nContent-Length: 0\r\n\r\n'), 502],
  ['sends a status of five digits', reply('HTTP/1.1 20000 OK\r\nContent-Length: 0\r\n\r\n'), 502],
  ['switches protocols', reply('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'), 502],
  ['sends early hints without end', repeat('', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n', 50), 503],
  ['redirects to itself without end', reply('HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'), 502],
  ['redirects without a target', reply('HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n'), 502],
  ['redirects to an invalid URL', reply('HTTP/1.1 302 Found\r\nLocation: http://[\r\nContent-Length: 0\r\n\r\n'), 502],
  ['redirects to a private address', reply('HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n'), 422],
];

const openServer = async (onConnection: (socket: Socket) => void) => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket.once('close', () => sockets.delete(socket));
    socket.once('data', () => onConnection(socket));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  afterTest(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, open: () => sockets.size };
};

const statusOf = (error: unknown): number | string => {
  if (!(error instanceof EgressError)) return `${error}`;
  const { code, extra } = refusalOfEgress(error, '/url');
  assert.is(code === 'unavailable', extra.retryAfter !== undefined);
  return PROBLEMS[code].status;
};

for (const [condition, send, status] of ANSWERS)
  test(`a request to a server that ${condition} fails with ${status} in limited time`, async () => {
    const server = await openServer(send);
    const client = createGuardedClient({ allow: ['127.0.0.1'], idleTimeoutMs: IDLE_MS });
    afterTest(client.close);
    const startedAt = performance.now();
    const outcome = await client
      .read({ url: `http://127.0.0.1:${server.port}/`, maxBytes: MAX_BYTES, totalMs: TOTAL_MS })
      .then(({ bytes }) => `${bytes.length} bytes`, statusOf);
    assert.is(outcome, status);
    assert.ok(performance.now() - startedAt < TOTAL_MS + 2_500);
  });

test('reading a response body of exactly the maximum size succeeds', async () => {
  const server = await openServer(ok(`Content-Length: ${MAX_BYTES}`, 'x'.repeat(MAX_BYTES)));
  const client = createGuardedClient({ allow: ['127.0.0.1'] });
  afterTest(client.close);
  const { bytes, status } = await client.read({ url: `http://127.0.0.1:${server.port}/`, maxBytes: MAX_BYTES });
  assert.equal([bytes.length, status], [MAX_BYTES, 200]);
});

test('while 32 requests to one host are in progress, further requests to that host fail at once; requests to other hosts still succeed', async () => {
  const slow = await openServer(() => undefined);
  const ready = await openServer(ok('Content-Length: 2', 'ok'));
  const client = createGuardedClient({ allow: ['127.0.0.1'], idleTimeoutMs: 60_000 });
  afterTest(client.close);
  const waiting = new AbortController();
  const read = (port: number, signal?: AbortSignal) =>
    client.read({ url: `http://127.0.0.1:${port}/`, ...(signal && { signal }) }).then(({ status }) => status, statusOf);
  const under = Array.from({ length: 32 }, () => read(slow.port, waiting.signal));
  assert.is(await read(slow.port), 503);
  assert.is(await read(ready.port), 200);
  waiting.abort();
  assert.equal(new Set(await Promise.all(under)), new Set([503]));
});

test('while 128 requests are in progress, any further request fails at once; after one of them has ended, a new request succeeds', async () => {
  const servers = await Promise.all(Array.from({ length: 16 }, () => openServer(() => undefined)));
  const ready = await openServer(ok('Content-Length: 2', 'ok'));
  const client = createGuardedClient({ allow: ['127.0.0.1'], idleTimeoutMs: 60_000 });
  afterTest(client.close);
  const waiting = new AbortController();
  const slow = Array.from({ length: 128 }, (_, index) =>
    client.read({ url: `http://127.0.0.1:${servers[index % 16]!.port}/`, signal: waiting.signal }).catch(() => null),
  );
  const read = () => client.read({ url: `http://127.0.0.1:${ready.port}/` }).then(({ status }) => status, statusOf);
  assert.is(await read(), 503);
  waiting.abort();
  await Promise.all(slow);
  assert.is(await read(), 200);
});

test.run();
