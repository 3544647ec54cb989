import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Hono } from 'hono';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { MAX_JSON_BYTES } from '../../api/http/json-body.ts';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

const p = await createTestPlatform();
const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
const AGENTS = `${p.tenant}/agents`;
const HEAD = ['Host: annals.test', `Authorization: Bearer ${p.key}`];
const JSON_HEAD = [...HEAD, 'Content-Type: application/json'];

type Answer = { status: number; headers: Record<string, string>; body: string; ms: number };

const parsed = (text: string, ms: number): Answer => {
  const [head = '', ...body] = text.split('\r\n\r\n');
  const [line = '', ...headers] = head.split('\r\n');
  const entries = headers.map((one) => [one.slice(0, one.indexOf(':')).toLowerCase(), one.slice(one.indexOf(':') + 1).trim()]);
  return { status: Number(line.split(' ')[1] ?? 0), headers: Object.fromEntries(entries), body: body.join('\r\n\r\n'), ms };
};

/** Writes bytes to a new connection. Reads until the server closes the connection or sends nothing for `quiet` ms. */
const raw = (text: string | readonly string[], quiet = 150): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const startedAt = performance.now();
    let received = '';
    let timer: NodeJS.Timeout | undefined;
    const socket = connect(server.port, '127.0.0.1');
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(parsed(received, performance.now() - startedAt));
    };
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      clearTimeout(timer);
      timer = setTimeout(end, quiet);
    });
    socket.on('close', end);
    socket.on('error', (error) => (received === '' ? reject(error) : end()));
    for (const part of [text].flat()) socket.write(part, 'latin1');
  });

const request = (line: string, headers: readonly string[], body = ''): string => [line, ...headers, '', body].join('\r\n');
const body = (slug: string): string => JSON.stringify({ name: 'Agent', slug });
const created = () => p.eventsOf('AgentCreated').length;

const checkProblem = ({ status, headers, body, ms }: Answer, expected: number): void => {
  assert.is(status, expected, body);
  assert.is(headers['content-type'], 'application/problem+json', body);
  assert.match(body, new RegExp(`"status":${expected}`));
  assert.not.match(body, /\bat .*:\d+:\d+|node_modules|\.ts\b/);
  assert.ok(ms < 1_000 * loadFactor() + 150, `${ms} ms`);
};

test('a request is accepted if its body has a Content-Length, and if it comes in chunks', async () => {
  const sent = body('whole');
  assert.is((await raw(request(`POST ${AGENTS} HTTP/1.1`, [...JSON_HEAD, `Content-Length: ${sent.length}`], sent))).status, 201);
  const other = body('chunks');
  const chunks = `${other.length.toString(16)}\r\n${other}\r\n0\r\n\r\n`;
  assert.is((await raw(request(`POST ${AGENTS} HTTP/1.1`, [...JSON_HEAD, 'Transfer-Encoding: chunked'], chunks))).status, 201);
});

test('a request with an ambiguous body length, malformed chunks, no Host or bytes that are not HTTP gets 400 with a problem document and has no effect', async () => {
  const before = created();
  const sent = body('smuggled');
  const post = (...headers: string[]) => request(`POST ${AGENTS} HTTP/1.1`, [...JSON_HEAD, ...headers], sent);
  const wrong = [
    post(`Content-Length: ${sent.length}`, 'Transfer-Encoding: chunked'),
    post(`Content-Length: ${sent.length}`, `Content-Length: ${sent.length + 1}`),
    post('Content-Length: -1'),
    post('Content-Length: 1e3'),
    post('Transfer-Encoding: chunked'),
    request(`GET ${AGENTS} HTTP/1.1`, [`Authorization: Bearer ${p.key}`]),
    request(`GET ${AGENTS} HTTP/1.1`, [...HEAD, 'X-Bad: a\0b']),
    request(`GET ${AGENTS} HTTP/1.1`, [...HEAD, ' folded: x', 'X Y: z']),
    'hello\r\n\r\n',
  ];
  for (const one of wrong) checkProblem(await raw(one), 400);
  assert.is(created(), before);
});

test('a request with an invalid or duplicate Host, or a duplicate Idempotency-Key, gets 400; every valid Host is accepted', async () => {
  const get = (...hosts: string[]) =>
    raw(request(`GET ${AGENTS}?limit=1 HTTP/1.1`, [...hosts.map((host) => `Host: ${host}`), `Authorization: Bearer ${p.key}`]));
  const none = ['', '[::1', 'a b/c', 'x:99999', 'x:', 'a/b', 'user@host', '%41', '999.999.999.999', 'a\\b', 'a?b'];
  for (const host of none) checkProblem(await get(host), 400);
  checkProblem(await get('annals.test', 'annals.test'), 400);
  checkProblem(await raw(request(`POST ${AGENTS} HTTP/1.1`, [...HEAD, 'Idempotency-Key: a', 'Idempotency-Key: b'])), 400);
  checkProblem(await raw(request('GET http://[::1/livez HTTP/1.1', HEAD)), 400);
  for (const host of ['annals.test', 'EXAMPLE.com:80', '[::1]', '[::1]:4100', '127.0.0.1:4100', 'localhost'])
    assert.is((await get(host)).status, 200, host);
});

test('an HTTP/1.0 request without a Host header is accepted', async () => {
  assert.is((await raw(request(`GET ${AGENTS} HTTP/1.0`, [`Authorization: Bearer ${p.key}`]))).status, 200);
});

test('a request with 20 kB of headers or with 2,000 headers gets 431', async () => {
  checkProblem(await raw(request(`GET ${AGENTS} HTTP/1.1`, [...HEAD, `X-Long: ${'x'.repeat(20_000)}`])), 431);
  const many = Array.from({ length: 2_000 }, (_, index) => `a${index % 10}:`);
  checkProblem(await raw(request(`GET ${AGENTS} HTTP/1.1`, [...HEAD, ...many])), 431);
});

test('a request whose body is above the limit gets 413: at once if its Content-Length is above the limit, otherwise as soon as the chunks exceed it', async () => {
  const length = request(`POST ${AGENTS} HTTP/1.1`, [...JSON_HEAD, `Content-Length: ${MAX_JSON_BYTES + 1}`]);
  const declared = await raw(length);
  checkProblem(declared, 413);
  assert.match(declared.body, new RegExp(`"limit":${MAX_JSON_BYTES}`));
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
  const endless = [request(`POST ${AGENTS} HTTP/1.1`, [...JSON_HEAD, 'Transfer-Encoding: chunked']), ...Array(12).fill(chunk)];
  checkProblem(await raw(endless), 413);
});

test('a body whose size is exactly the limit is read completely', async () => {
  const sent = body('exact').padEnd(MAX_JSON_BYTES, ' ');
  assert.is((await raw(request(`POST ${AGENTS} HTTP/1.1`, [...JSON_HEAD, `Content-Length: ${sent.length}`], sent))).status, 201);
});

test('a request whose body is shorter than its Content-Length appends no event', async () => {
  const before = created();
  const sent = body('short');
  const socket = connect(server.port, '127.0.0.1');
  socket.write(request(`POST ${AGENTS} HTTP/1.1`, [...JSON_HEAD, `Content-Length: ${sent.length + 10}`], sent));
  await sleep(50);
  socket.destroy();
  await sleep(50);
  assert.is(created(), before);
  assert.is((await raw(request('GET /livez HTTP/1.1', HEAD))).status, 200);
});

/**
 * Sends the requests on one connection, and waits until the server closes it or is silent for 5 s. @returns the
 * statuses of all responses
 */
const statuses = async (...requests: string[]): Promise<number[]> => {
  const { status, body } = await raw(requests.join(''), 5_000);
  return [status, ...[...body.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, one]) => Number(one))];
};

test('bytes after the end of a body are read as the next request; if they are malformed, they get 400', async () => {
  const short = request(`POST ${AGENTS} HTTP/1.1`, [...JSON_HEAD, 'Content-Length: 2'], '{}garbage\r\n\r\n');
  assert.equal(await statuses(short), [422, 400]);
});

test('on one connection, each request gets its own response; a malformed request gets 400 after the responses to the earlier requests', async () => {
  const before = created();
  const post = (slug: string): string => {
    const sent = body(slug);
    return request(`POST ${AGENTS} HTTP/1.1`, [...JSON_HEAD, `Content-Length: ${sent.length}`], sent);
  };
  const get = request('GET /livez HTTP/1.1', HEAD);
  assert.equal(await statuses(post('first'), get, 'garbage\r\n\r\n', get), [201, 200, 400]);
  assert.equal(await statuses(post('second'), request('GET /nowhere HTTP/1.1', [...HEAD, 'Connection: close']), get), [201, 404]);
  const broken = request(`POST ${AGENTS} HTTP/1.1`, [...JSON_HEAD, 'Transfer-Encoding: chunked'], 'zz\r\n');
  assert.equal(await statuses(post('third'), broken), [201, 400]);
  assert.is(created(), before + 3);
});

test('TRACE and each method that a path does not support get 405 with Allow; headers that override the method are ignored', async () => {
  for (const method of ['TRACE', 'PUT', 'DELETE', 'PROPFIND']) {
    const answer = await raw(request(`${method} ${AGENTS} HTTP/1.1`, HEAD));
    checkProblem(answer, 405);
    assert.is(answer.headers.allow, 'GET, HEAD, POST, OPTIONS');
    assert.not.match(answer.body, /ann_/);
  }
  const before = p.log.events.length;
  const overridden = await raw(request(`GET ${AGENTS} HTTP/1.1`, [...HEAD, 'X-HTTP-Method-Override: DELETE', 'X-Method-Override: POST']));
  assert.equal([overridden.status, p.log.events.length], [200, before]);
  assert.is((await raw(request(`POST ${AGENTS}?_method=DELETE HTTP/1.1`, [...HEAD, 'Content-Length: 0']))).status, 422);
});

test('HEAD gets the response of GET without the body; OPTIONS gets the list of methods', async () => {
  const get = await raw(request(`GET ${AGENTS} HTTP/1.1`, HEAD));
  const head = await raw(request(`HEAD ${AGENTS} HTTP/1.1`, HEAD));
  assert.equal([head.status, head.body], [200, '']);
  for (const name of ['content-type', 'total-count', 'projection-position']) assert.is(head.headers[name], get.headers[name], name);
  const options = await raw(request(`OPTIONS ${AGENTS} HTTP/1.1`, ['Host: annals.test']));
  assert.equal([options.status, options.headers.allow], [204, 'GET, HEAD, POST, OPTIONS']);
  assert.is(options.headers['access-control-allow-origin'], undefined);
});

test('requests with unusual paths get 400 or 404, and never cause a server error', async () => {
  const odd = [
    '%2e%2e',
    '%00',
    '/',
    ';a=b',
    '%c0%ae',
    '%ff',
    '%',
    '%zz',
    '..%2f',
    '\\',
    '%5c',
    '%0d%0aX-Injected:1',
    'a\\b',
    'x'.repeat(4_000),
  ];
  for (const one of odd)
    for (const path of [`${AGENTS}/${one}`, `/${one}`, `/${one}${AGENTS}`]) {
      const answer = await raw(request(`GET ${path} HTTP/1.1`, HEAD));
      assert.ok([400, 404].includes(answer.status), `${path}: ${answer.status}`);
      checkProblem(answer, answer.status);
      assert.is(answer.headers['x-injected'], undefined);
    }
});

test('requests with an unsupported transfer coding or HTTP version, and CONNECT requests, get 400 with a problem document and have no effect', async () => {
  const before = created();
  const sent = body('coded');
  const chunks = `${sent.length.toString(16)}\r\n${sent}\r\n0\r\n\r\n`;
  const coded = (coding: string) => raw(request(`POST ${AGENTS} HTTP/1.1`, [...JSON_HEAD, `Transfer-Encoding: ${coding}`], chunks));
  for (const coding of ['gzip, chunked', 'identity, chunked', 'chunked, chunked', 'gzip']) checkProblem(await coded(coding), 400);
  for (const version of ['0.9', '2.0', '3.0']) checkProblem(await raw(request(`GET ${AGENTS} HTTP/${version}`, HEAD)), 400);
  checkProblem(await raw(request('CONNECT annals.test:443 HTTP/1.1', HEAD)), 400);
  assert.is(created(), before);
  assert.is((await coded('Chunked')).status, 201);
});

test('the server still answers requests after clients have sent CONNECT and reset the connection', async () => {
  for (let times = 0; times < 20; times++) {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    await new Promise<void>((sent) => {
      socket.write(request('CONNECT annals.test:443 HTTP/1.1', HEAD), () => sent());
    });
    socket.resetAndDestroy();
  }
  assert.is((await raw(request('GET /livez HTTP/1.1', HEAD))).status, 200);
});

test('a value of the Expect header other than 100-continue is ignored', async () => {
  const sent = body('expecting');
  const post = [...JSON_HEAD, `Content-Length: ${sent.length}`, 'Expect: 200-ok'];
  assert.is((await raw(request(`POST ${AGENTS} HTTP/1.1`, post, sent))).status, 201);
  checkProblem(await raw(request('GET /livez/.. HTTP/1.1', [...HEAD, 'Expect: 200-ok'])), 400);
});

test('a request whose path has a segment . or .. gets 400; in a query, the same text is accepted', async () => {
  for (const path of ['/livez/..', '/livez/.', '/livez/%2E%2e/', '/a/../livez', '/a/..?x=1', '/a/..#x'])
    checkProblem(await raw(request(`GET ${path} HTTP/1.1`, HEAD)), 400);
  for (const query of ['q=/../', 'q=/./x', 'q=/..', 'q=/%2e%2e/', 'q=a/..?b'])
    assert.is((await raw(request(`GET ${AGENTS}?${query} HTTP/1.1`, HEAD))).status, 200, query);
});

test('a client that sends its headers too slowly is disconnected; other clients are not affected', async () => {
  const startedAt = performance.now();
  const closed = new Promise<string>((resolve) => {
    let received = '';
    const socket = connect(server.port, '127.0.0.1');
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.on('close', () => resolve(received));
    socket.on('error', () => {});
    socket.write(`GET ${AGENTS} HTTP/1.1\r\nHost: annals.test\r\n`);
    const drip = setInterval(() => socket.write('X-Slow: 1\r\n'), 1_000);
    socket.on('close', () => clearInterval(drip));
  });
  assert.is((await raw(request(`GET ${AGENTS} HTTP/1.1`, HEAD))).status, 200);
  const received = await closed;
  const seconds = (performance.now() - startedAt) / 1_000;
  assert.ok(seconds > 9 && seconds < 15 * loadFactor(), `${seconds} s`);
  checkProblem({ ...parsed(received, 0) }, 408);
});

test('a server that shuts down answers all requests on a busy keep-alive connection, and then tells the client to close it', async () => {
  const [arrived, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const app = new Hono().get('/', async (c) => {
    arrived.resolve();
    await gate.promise;
    return c.text('done');
  });
  const ending = await listen(app, { host: '127.0.0.1', port: 0 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = () =>
    new Promise<string | undefined>((resolve, reject) => {
      const request = get({ agent, port: ending.port }, (answer) => answer.resume().on('end', () => resolve(answer.headers.connection)));
      request.on('error', reject);
    });
  const [first, second] = [ask(), ask()];
  await arrived.promise;
  const closed = ending.close();
  gate.resolve();
  assert.equal([await first, await second], ['keep-alive', 'close']);
  await closed;
});

afterLastTest(() => server.close().then(p.close));

test.run();
