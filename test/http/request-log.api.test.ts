import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import * as assert from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { listen } from '../../infra/http/listen.ts';
import { createRequestLog, MAX_LINES_PER_INTERVAL } from '../../infra/http/request-log.ts';
import { createRequestObserver } from '../../infra/http/request-observer.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

type Line = Readonly<Record<string, unknown>>;

const INTERVAL_MS = 200;
const [INFO, DEBUG] = [30, 20];

const startPlatform = async (level: 'debug' | 'info', intervalMs = INTERVAL_MS) => {
  const lines: string[] = [];
  const log = createRequestLog(pino({ level }, { write: (line: string) => void lines.push(line) }), intervalMs);
  const registry = new Registry();
  const observer = createRequestObserver(registry, log.ofKind);
  const platform = await createTestPlatform({ onResponse: observer.onResponse });
  afterTest(platform.close);
  /** Returns the log lines since the last call, without the fields that differ in every run. */
  const takeLines = (): Line[] =>
    lines.splice(0).map((line) => {
      const { ms, ...fields } = omit(JSON.parse(line) as Line, 'time', 'pid', 'hostname');
      return { ...fields, ...('request_id' in fields ? { timed: typeof ms === 'number' && ms > 0 } : {}) };
    });
  return { platform, takeLines, registry, observer, closeLog: log.close };
};

const withRequestId = (request_id: string) => ({ headers: { 'x-request-id': request_id } });

test('each mutation and each failed request is logged at the level info, and each read at the level debug', async () => {
  const { platform, takeLines } = await startPlatform('debug');
  const { send, tenant } = platform;
  const me = (await send('GET', '/me')).body as { user: { id: string } };
  takeLines();
  await send('POST', `${tenant}/agents`, { body: { name: 'A', slug: 'a' }, ...withRequestId('create') });
  await send('GET', `${tenant}/agents`, withRequestId('list'));
  await send('GET', `${tenant}/agents/nobody`, withRequestId('missing'));
  await send('GET', `${tenant}/agents`, { key: '', ...withRequestId('anonymous') });
  await send('GET', '/nowhere', withRequestId('no-route'));
  const line = (level: number, request_id: string, fields: Line): Line => ({ level, request_id, msg: 'request', timed: true, ...fields });
  const agents = '/tenant/{tenant_id}/agents';
  const lines = takeLines();
  const created = platform.eventsOf('AgentCreated').at(-1)!;
  const caller = { actor: `user:${me.user.id}`, key_id: created.meta.actor.key_id };
  assert.type(caller.key_id, 'string');
  assert.equal(lines, [
    line(INFO, 'create', { method: 'POST', route: agents, status: 201, ...caller }),
    line(DEBUG, 'list', { method: 'GET', route: agents, status: 200, ...caller }),
    line(INFO, 'missing', { method: 'GET', route: `${agents}/{agent_id}`, status: 404, ...caller }),
    line(INFO, 'anonymous', { method: 'GET', route: agents, status: 401, actor: null, key_id: null }),
    line(INFO, 'no-route', { method: 'GET', route: 'unknown', status: 404, actor: null, key_id: null }),
  ]);
});

test('the log line of a request contains no credential, no body and no value from the path or the query', async () => {
  const { platform, takeLines } = await startPlatform('debug');
  const { send, tenant, key } = platform;
  await send('POST', `${tenant}/agents?token=in-the-query`, { body: { name: 'in-the-body', slug: 'a' } });
  await send('GET', `${tenant}/agents?kind=in-the-query`);
  await send('GET', '/in-the-path', { headers: { cookie: 'in-the-cookie', 'x-request-id': 'in the header' } });
  await send('GET', '/me', { key: 'in-the-credential' });
  const text = JSON.stringify(takeLines());
  assert.match(text, /"status":401/);
  for (const secret of ['in-the', 'in the', key]) assert.not.ok(text.includes(secret), secret);
});

test('during a flood of failing requests, only some requests get a log line; the next line says how many were left out', async () => {
  const { platform, takeLines } = await startPlatform('info');
  const flood = MAX_LINES_PER_INTERVAL + 30;
  for (let sent = 0; sent < flood; sent++) await platform.send('GET', '/me', { key: 'wrong' });
  await platform.send('POST', `${platform.tenant}/agents`, { body: { name: 'A', slug: 'a' } });
  await sleep(2 * INTERVAL_MS);
  const lines = takeLines();
  const refused = lines.filter(({ status }) => status === 401);
  assert.is(refused.filter(({ msg }) => msg === 'request').length + Number(refused.at(-1)!.omitted), flood);
  assert.ok(refused.length <= 2 * (MAX_LINES_PER_INTERVAL + 1), `${refused.length} lines`);
  assert.is(lines.filter(({ status }) => status === 201).length, 1);
  await platform.send('GET', '/me', { key: 'wrong' });
  assert.equal(
    takeLines().map(({ msg }) => msg),
    ['request'],
  );
});

test('when the log of requests is closed, one line with the number of request lines that were left out is written', async () => {
  const { platform, takeLines, closeLog } = await startPlatform('info', 60_000);
  for (let sent = 0; sent < MAX_LINES_PER_INTERVAL + 3; sent++) await platform.send('GET', '/me', { key: 'wrong' });
  takeLines();
  closeLog();
  closeLog();
  assert.equal(
    takeLines().map(({ omitted }) => omitted),
    [3],
  );
});

test('a request that the server refuses before it reaches the application is logged and counted in the metrics', async () => {
  const { platform, takeLines, registry, observer } = await startPlatform('info');
  const server = await listen(platform.app, { host: '127.0.0.1', port: 0 }, observer.onMalformed);
  afterTest(server.close);
  const socket = connect(server.port, '127.0.0.1').end('NOT HTTP\r\n\r\n');
  const response = (await Array.fromAsync(socket)).join('');
  const [, request_id] = /^x-request-id: (.*)\r$/m.exec(response)!;
  const fields = { method: 'unknown', route: 'malformed', status: 400, actor: null, key_id: null };
  assert.equal(takeLines(), [{ level: INFO, request_id, msg: 'request', timed: false, ...fields }]);
  const labels = 'method="unknown",route="malformed",status="400"';
  assert.match(await registry.metrics(), `annals_http_request_duration_seconds_count{${labels}} 1`);
});

test('request durations are measured per path template of the OpenAPI document, with a bucket bound between 25 and 100 ms', async () => {
  const { platform, registry } = await startPlatform('info');
  await platform.send('GET', `${platform.tenant}/agents`);
  const text = await registry.metrics();
  const labels = 'method="GET",route="/tenant/{tenant_id}/agents",status="200"';
  assert.ok(text.includes(`annals_http_request_duration_seconds_count{${labels}} 1`), text);
  const bounds = [...text.matchAll(/le="([\d.]+)"/g)].map(([, bound]) => Number(bound));
  assert.ok(bounds.some((bound) => bound > 0.025 && bound < 0.1));
});

test.run();
