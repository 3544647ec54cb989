import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { plainPaths } from '../../api/areas.ts';
import { PROBLEMS } from '../../api/http/problem.ts';
import { RATE_LIMIT_POLICIES } from '../../domain/access/rate-limit-policy.ts';
import { omit } from '../../domain/omit.ts';
import { listen } from '../../infra/http/listen.ts';
import { createRateLimiter } from '../../infra/ratelimit/limiter.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { openapiDocument } from '../fixtures/openapi-document.ts';
import { PLAIN_ROUTE_HEADERS } from '../fixtures/plain-route-headers.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Answer = { status: number; headers: IncomingHttpHeaders; text: string };
type Sent = { key?: string; body?: string; headers?: Record<string, string> };
type Document = { paths: Record<string, Record<string, object>> };

const MISSING = `c${'0'.repeat(24)}`;

/** Starts the platform behind a real HTTP server: Node and Hono's adapter for Node set response headers, too. */
const startServer = async (options: Parameters<typeof createTestPlatform>[0] = {}) => {
  const p = await createTestPlatform(options);
  const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
  const ask = (method: string, path: string, { key = '', body, headers = {} }: Sent = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: server.port, method, path, agent: false }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        answer.on('end', () => resolve({ status: answer.statusCode!, headers: answer.headers, text }));
      });
      sent.on('error', reject);
      if (key) sent.setHeader('authorization', `Bearer ${key}`);
      if (body !== undefined) sent.setHeader('content-type', 'application/json');
      for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value);
      sent.end(body);
    });
  const close = async (): Promise<void> => {
    await server.close();
    await p.close();
  };
  return { p, ask, port: server.port, close };
};

const { p, ask, port, close } = await startServer();
const document = openapiDocument<Document>();
const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => ({
    name: `${method} ${path}`,
    method: method.toUpperCase(),
    path,
    filled: path.replace(/\{\w+\}/g, MISSING),
  })),
);

/**
 * Checks that a response has the headers that every response must have, and none of the headers that no response may
 * have.
 */
const checkHeaders = (name: string, { headers, status }: Answer): void => {
  assert.is(headers['x-content-type-options'], 'nosniff', name);
  assert.ok(headers['x-request-id'], `${name}: x-request-id`);
  assert.ok(headers['cache-control'], `${name}: cache-control`);
  for (const header of ['server', 'x-powered-by', 'via', 'x-runtime', 'access-control-allow-origin'])
    assert.not.ok(headers[header], `${name}: ${header}`);
  if (/html/.test(headers['content-type'] ?? '')) assert.ok(headers['content-security-policy'], `${name}: a page without a policy`);
  if (status >= 400) assert.is(headers['cache-control'], 'no-store', name);
};

const FIELDS = [
  'type',
  'title',
  'status',
  'detail',
  'instance',
  'code',
  'errors',
  'request_id',
  'permission',
  'agent_ids',
  'outcome',
  'limit',
];
/**
 * Matches internal details that a response must not contain: stack traces, file names, SQL, and the names and errors of
 * drivers.
 */
const INTERNAL_DETAILS =
  /\n\s+at |node_modules|node:internal|file:\/\/|\.[cm]?[jt]s\b|\/work\/|\/home\/|\bselect\b.+\bfrom\b|\binsert into\b|postgres|\bpg_|ECONN|ENOENT|\bSQLSTATE\b|eventstore|\bnats\b/i;

/** Checks that a response is a problem document with a known code and without internal details. @returns the code */
const checkProblem = (name: string, answer: Answer): string => {
  checkHeaders(name, answer);
  assert.is(answer.headers['content-type'], 'application/problem+json', name);
  const body = JSON.parse(answer.text) as Record<string, unknown> & { code: keyof typeof PROBLEMS };
  assert.equal(
    Object.keys(body).filter((field) => !FIELDS.includes(field)),
    [],
    name,
  );
  assert.equal(
    [body.status, PROBLEMS[body.code].status, body.request_id],
    [answer.status, answer.status, answer.headers['x-request-id']],
    name,
  );
  const rest = omit(body, 'instance');
  assert.not.match(JSON.stringify(rest), INTERNAL_DETAILS, name);
  return body.code;
};

test('every route sends the security headers to callers without a credential, to callers with an unknown credential, and to an administrator', async () => {
  for (const { name, method, filled } of routes)
    for (const key of ['', 'nonsense', p.key]) {
      const answer = await ask(method, filled, { key, ...(['GET', 'DELETE'].includes(method) ? {} : { body: '{}' }) });
      checkHeaders(`${name} ${answer.status}`, answer);
      if (answer.status >= 400) checkProblem(`${name} ${answer.status}`, answer);
    }
});

const PAGE =
  "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

test('every route that is not an API operation has the status, Content-Type and Cache-Control that this test lists', async () => {
  const found: typeof PLAIN_ROUTE_HEADERS = {};
  for (const { name, method, path, filled } of routes.filter(({ path }) => path in plainPaths)) {
    const { status, headers } = await ask(method, filled);
    found[name] = [status, headers['content-type'], headers['cache-control']!];
    assert.is(headers['content-security-policy'], path === '/docs' ? PAGE : undefined, name);
  }
  assert.equal(found, PLAIN_ROUTE_HEADERS);
});

test('the URL in the field type of a problem document leads to a description of the problem', async () => {
  for (const [code, { status, title }] of Object.entries(PROBLEMS)) {
    const type = `/problems/${code.replaceAll('_', '-')}`;
    const answer = await ask('GET', type);
    const { when, why, what_to_do, example, ...kind } = JSON.parse(answer.text) as Record<string, string & { code?: string }>;
    assert.equal([answer.status, kind], [200, { type, code, status, title }]);
    assert.ok(when && why && what_to_do && example!.code === code, code);
  }
  const page = await p.send('GET', '/problems/not-found', { key: '', headers: { accept: 'text/html,application/xml;q=0.9,*/*;q=0.8' } });
  assert.equal([page.status, page.headers.get('content-type'), page.headers.get('vary')], [200, 'text/html; charset=utf-8', 'Accept']);
  assert.match(page.text, /<h2>When<\/h2>[\s\S]+<h2>Why<\/h2>[\s\S]+<h2>What to do<\/h2>[\s\S]+<h2>Example<\/h2>/);
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  const { type } = JSON.parse((await ask('GET', '/nowhere')).text);
  assert.is((await ask('GET', type)).status, 200);
  for (const none of ['not_found', 'constructor', '', 'x', 'not-found/']) assert.is((await ask('GET', `/problems/${none}`)).status, 404);
});

/** The refusal codes that a single request cannot cause. Other tests check these refusals. */
const COVERED_ELSEWHERE = [
  'bad_gateway',
  'budget_exceeded',
  'conflict',
  'idempotency_in_flight',
  'idempotency_mismatch',
  'key_expired',
  'key_owner_inactive',
  'misdirected',
  'not_configured',
  'plan_limit',
  'rate_limited',
  'recent_sign_in_required',
  'secret_already_shown',
  'tenant_suspended',
  'too_slow',
];

/** Causes every refusal that a single request can cause. @returns their codes */
const refusals = async (): Promise<string[]> => {
  const auditor = await addMember(p, 'AUDITOR');
  const found: string[] = [];
  const refused = async (name: string, method: string, path: string, sent: Sent = {}) => {
    const answer = await ask(method, path, { key: p.key, ...sent });
    assert.ok(answer.status >= 400, `${name}: ${answer.status} ${answer.text}`);
    found.push(checkProblem(name, answer));
  };
  const agents = `${p.tenant}/agents`;
  const agent = JSON.stringify({ name: 'Agent', slug: 'agent' });
  const created = JSON.parse((await ask('POST', agents, { key: p.key, body: agent })).text) as { id: string };
  await refused('no JSON', 'POST', agents, { body: '{"name":' });
  await refused('nobody', 'GET', agents, { key: '' });
  await refused('a role too small', 'POST', agents, { key: auditor.key, body: agent });
  await refused('a missing agent', 'GET', `${agents}/${MISSING}`);
  await refused('a method too many', 'PUT', agents, { body: '{}' });
  await refused('a slug twice', 'POST', agents, { body: agent });
  await refused('another revision', 'PATCH', `${agents}/${created.id}`, { body: '{"name":"B"}', headers: { 'if-match': '"99"' } });
  await refused('too large', 'POST', agents, { body: JSON.stringify({ name: 'x'.repeat(600_000) }) });
  await refused('no JSON by its type', 'POST', agents, { body: agent, headers: { 'content-type': 'text/plain' } });
  await refused('a field too many', 'POST', agents, { body: '{"nothing":1}' });
  await refused('too many headers', 'GET', '/me', { headers: Object.fromEntries(Array.from({ length: 210 }, (_, n) => [`x-${n}`, '1'])) });
  await refused('no such projection', 'GET', agents, { headers: { 'consistency-token': '9999999999:9999999999' } });
  const reads = p.reads as { page: unknown };
  const { page } = reads;
  reads.page = () => Promise.reject(Object.assign(new Error('select secret from annals.keys'), { code: '42P01' }));
  await refused('a failure of our own', 'GET', agents);
  reads.page = page;
  const over = p.log.outage();
  await refused('no event store', 'POST', agents, { body: JSON.stringify({ name: 'C', slug: 'c' }) });
  over();
  return found;
};

test('no error response contains internal details', async () => {
  const found = new Set<string>(await refusals());
  assert.equal(
    Object.keys(PROBLEMS)
      .filter((code) => !found.has(code))
      .sort(),
    COVERED_ELSEWHERE,
  );
});

test('responses to rate-limited requests and to bytes that are not HTTP have the security headers, too', async () => {
  const other = await startServer({
    limits: createRateLimiter({ ...RATE_LIMIT_POLICIES, badCredentials: { ...RATE_LIMIT_POLICIES.badCredentials, quota: 1 } }),
  });
  await other.ask('GET', '/me', { key: 'nonsense' });
  assert.is(checkProblem('a guess too many', await other.ask('GET', '/me', { key: 'nonsense' })), 'rate_limited');
  await other.close();
  const raw = await new Promise<string>((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write('NONSENSE\r\n\r\n'));
    socket.on('data', (part) => {
      text += part;
    });
    socket.on('close', () => resolve(text));
  });
  const [head = '', body = ''] = raw.split('\r\n\r\n');
  const [line = '', ...fields] = head.split('\r\n');
  const headers = Object.fromEntries(fields.map((field) => field.split(': ') as [string, string]));
  assert.is(checkProblem('no HTTP', { status: Number(line.split(' ')[1]), headers, text: body }), 'malformed');
});

test('a request to an unknown path gets the same 404 for every path and every caller, except for the path and the request id in the body', async () => {
  const paths = [
    '/api/v1',
    '/api/v1/tenants',
    '/v1',
    '/v2/tenants',
    '/admin',
    '/admin/nothing',
    '/tenant',
    `${p.tenant}/nothing`,
    '/debug',
    '/hooks',
    '/hooks/inbound',
    '/.env',
    '/docs/',
    '/docs/other.js',
    '/openapi.yaml',
    '/livez/',
    '/%00',
    '/METRICS',
  ];
  const found = new Set<string>();
  for (const path of paths)
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS'])
      for (const key of ['', 'nonsense', p.key]) {
        const answer = await ask(method, path, { key });
        assert.is(answer.status, 404, `${method} ${path}`);
        assert.is(checkProblem(`${method} ${path}`, answer), 'not_found');
        const { instance, request_id: _, ...same } = JSON.parse(answer.text) as Record<string, unknown>;
        assert.is(instance, decodeURIComponent(path));
        const headers = omit(answer.headers, 'date', 'x-request-id', 'content-length');
        found.add(JSON.stringify([same, headers]));
      }
  assert.is(found.size, 1, [...found].join('\n'));
});

afterLastTest(close);

test.run();
