import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { verifyAuditExport } from '../../infra/audit/verify-audit-export.mjs';
import { callOperation } from '../../infra/cli/api/call-operation.ts';
import { describeOperation, listOperations } from '../../infra/cli/api/describe-operations.ts';
import { exportTenant } from '../../infra/cli/audit/export-tenant.ts';
import { importForInspection } from '../../infra/cli/audit/import-export.ts';
import { verifyExport } from '../../infra/cli/audit/verify-export.ts';
import { triggerDelivery } from '../../infra/cli/deliveries/trigger-delivery.ts';
import { triggerIntegration } from '../../infra/cli/deliveries/trigger-integration.ts';
import { previewCronJob } from '../../infra/cli/preview-cron-job.ts';
import { loadConfig } from '../../infra/config.ts';
import { examine, findingLines } from '../../infra/health/finding.ts';
import { checkHttpService } from '../../infra/health/health-checks.ts';
import { printLine } from '../../infra/logging/print-line.ts';
import { printError } from '../../infra/processes/exit.ts';
import { runner } from '../../infra/runner/runner.ts';

/** Clears a terminal, rings its bell, sets colours, changes the writing direction, is invisible, and forges a line. */
const HOSTILE = 'x\u001b[2J\u0007\u009b31m\u0000\u007f\u061c\u200b\u200f\u2028\u2029\u202e\u2066\ufeff\r\nforged';
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters must not be printed
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;

const TENANT = `c${'t'.repeat(24)}`;
const operation = (operationId: string, fields: object = {}) => ({
  operationId,
  summary: HOSTILE,
  description: HOSTILE,
  responses: { 200: { content: { 'application/json': {} } } },
  ...fields,
});
const query = { name: 'limit', in: 'query', description: HOSTILE, schema: { enum: [HOSTILE] } };
const openapi = {
  paths: {
    '/me': { get: operation('readMe') },
    '/agents': { get: operation('listAgents', { parameters: [query] }) },
    '/{tenant_id}/{id}': { get: operation('getWebhookIntegration') },
    '/{tenant_id}/{id}/test': { post: operation('sendTestDelivery') },
  },
  components: {},
};

type Answer = { readonly status: number; readonly type: string; readonly body: string | Uint8Array };
const json = (value: unknown, status = 200): Answer => ({ status, type: 'application/json', body: JSON.stringify(value) });
const errors = [{ pointer: HOSTILE, message: HOSTILE }];
const problem: Answer = {
  ...json({ title: HOSTILE, detail: HOSTILE, code: 'invalid', request_id: HOSTILE, errors }, 422),
  type: 'application/problem+json',
};
const text = (type: string): Answer => ({ status: 200, type, body: `${HOSTILE}\nlast` });

let answer: Answer = problem;
const server = createServer((request, response) => {
  const { status, type, body } = request.url === '/openapi.json' ? json(openapi) : answer;
  response.writeHead(status, { 'content-type': type }).end(body);
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const dir = mkdtempSync(join(tmpdir(), 'annals-terminal-'));
const hostileFile = join(dir, 'hostile.jsonl');
const manifest = JSON.stringify({ format: 'annals export v2', tenant_id: HOSTILE, entries: 1, root: HOSTILE });
// JSON.stringify would escape some of these characters, so the file is written with the characters themselves.
writeFileSync(hostileFile, `{"kind":"manifest","manifest":${manifest}}\n{"kind":"${HOSTILE.slice(0, -8)}","event":{}}\n`);

type Printed = { readonly code: number; readonly out: Buffer; readonly err: Buffer };

/** Runs a command, on a terminal or with a pipe. Prints its error as the program does. */
const printed = async (run: () => Promise<number>, isTTY: boolean): Promise<Printed> => {
  const streams = [process.stdout, process.stderr];
  const before = streams.map((stream) => ({ write: stream.write, isTTY: stream.isTTY }));
  const chunks: [Buffer[], Buffer[]] = [[], []];
  for (const [index, stream] of streams.entries())
    Object.assign(stream, { isTTY, write: (chunk: string | Uint8Array) => chunks[index]!.push(Buffer.from(chunk as string)) > 0 });
  try {
    const code = await run().catch((error: Error) => {
      printError(error.message);
      return 1;
    });
    return { code, out: Buffer.concat(chunks[0]), err: Buffer.concat(chunks[1]) };
  } finally {
    for (const [index, stream] of streams.entries()) Object.assign(stream, before[index]);
  }
};

const service = { url, key: 'key' };
const call = (...words: string[]) => callOperation(service, 'listAgents', words);
const trigger = { provider: 'github', integration: TENANT, tenant: TENANT };
const target = { agent: 'reviewer', count: 1, job: null, draft: { timezone: null } };
const refused = new Error(HOSTILE);

const doctor = async (): Promise<number> => {
  const check = () => checkHttpService(url, { isKnown: true, platform: null }, 'start it');
  const findings = [
    await examine({ part: 'service', downAdvice: HOSTILE, timeoutMs: 1_000 }, check),
    await examine({ part: 'service', downAdvice: 'start it', timeoutMs: 1_000 }, () => Promise.reject(refused)),
  ];
  for (const line of findings.flatMap(findingLines)) printLine(line);
  return 1;
};

const receive = async (): Promise<number> => {
  setTimeout(() => {
    answer = problem;
  }, 50);
  return runner({ ...service, agent: 'reviewer', exec: 'true', dir, signal: new AbortController().signal });
};

const unavailable: Answer = { ...problem, status: 503 };
const config = { ...loadConfig({}), annalsData: join(dir, 'data') };
const inspected = { file: hostileFile, key: HOSTILE, anchors: undefined };

const commands: [string, Answer, () => Promise<number>][] = [
  ['annals api, a problem', problem, () => call()],
  ['annals api, an error page', { ...problem, type: 'text/html', body: HOSTILE }, () => call()],
  ['annals api, a list', json([{ name: HOSTILE }, { [HOSTILE]: 1 }]), () => call('--output', 'table')],
  ['annals api, an object', json({ [HOSTILE]: HOSTILE }), () => call('--output', 'table')],
  ['annals api, JSON', json([{ name: HOSTILE, [HOSTILE]: [HOSTILE] }]), () => call('--output', 'json')],
  ['annals api, the operations', problem, () => listOperations(url)],
  ['annals api, the help of an operation', problem, () => describeOperation(url, 'listAgents')],
  ['annals api, an unknown field', problem, () => call(`--${HOSTILE.replace('=', '')}`, 'x')],
  ['annals trigger --url', { ...problem, body: HOSTILE }, () => triggerDelivery({ provider: 'github', url: `${url}/hook`, secret: 'x' })],
  ['annals trigger --integration', problem, () => triggerIntegration(service, trigger)],
  ['annals trigger, another provider', json({ provider: HOSTILE }), () => triggerIntegration(service, trigger)],
  ['annals cron preview', problem, () => previewCronJob(target, { ...service, json: false })],
  ['annals export', problem, () => exportTenant({ ...service, tenant: TENANT, to: join(dir, 'none'), wait: false })],
  ['annals runner', unavailable, receive],
  [
    'annals verify --audit',
    problem,
    () => verifyExport({ file: hostileFile, key: HOSTILE, anchors: undefined, json: false, verbose: true }),
  ],
  [
    'annals verify --audit --json',
    problem,
    () => verifyExport({ file: hostileFile, key: HOSTILE, anchors: undefined, json: true, verbose: true }),
  ],
  ['annals import', problem, () => importForInspection(config, inspected)],
  ['annals doctor', problem, doctor],
  ['the reason why a command fails', problem, () => Promise.reject(refused)],
];

for (const [name, sent, run] of commands)
  test(`control characters that others send are escaped: ${name}`, async () => {
    for (const isTTY of [true, false]) {
      answer = sent;
      const { out, err } = await printed(run, isTTY);
      const shown = `${out}${err}`;
      assert.not.match(shown, CONTROLS);
      assert.not.match(shown, /^\s*forged/m);
      assert.match(shown, name.includes('a list') || name.includes('an object') ? /x .*forged/ : /\\u001b/);
    }
  });

test('on a terminal and in a pipe, annals api prints JSON that means the same', async () => {
  const value = [{ name: HOSTILE, list: [HOSTILE, null, 1.5], [HOSTILE]: { emoji: '👩\u200d💻' } }];
  for (const isTTY of [true, false]) {
    answer = json(value);
    const { code, out } = await printed(() => call('--output', 'json'), isTTY);
    assert.equal([code, JSON.parse(String(out))], [0, value]);
  }
});

test('annals api prints texts line by line on a terminal, and refuses other contents there; in a pipe, it copies the bytes', async () => {
  for (const type of [
    'text/csv',
    'text/plain; charset=utf-8',
    'application/x-ndjson',
    'application/cloudevents+json',
    'text/event-stream',
  ]) {
    answer = text(type);
    const { code, out } = await printed(() => call(), true);
    assert.equal([code, String(out).endsWith('\nlast\n')], [0, true], type);
    assert.not.match(String(out), CONTROLS);
  }
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  for (const type of ['application/octet-stream', 'application/zip', 'image/png', 'application/jsonish']) {
    answer = { status: 200, type, body: bytes };
    const refusal = await printed(() => call(), true);
    assert.equal([refusal.code, refusal.out.length], [1, 0], type);
    assert.match(String(refusal.err), new RegExp(`^the answer is ${type}, not text: redirect it to a file, .+ > FILE\n$`));
    const piped = await printed(() => call(), false);
    assert.equal([piped.code, piped.out], [0, Buffer.from(bytes)], type);
  }
});

test('the verifier that auditors copy escapes the same characters', async () => {
  const found = await verifyAuditExport(hostileFile, { key: HOSTILE });
  assert.is(found.ok, false);
  const { spawnSync } = await import('node:child_process');
  const verifier = join(import.meta.dirname, '../../infra/audit/verify-audit-export.mjs');
  const { stdout, stderr } = spawnSync(process.execPath, [verifier, hostileFile, '--key', HOSTILE.replaceAll('\u0000', '')], {
    encoding: 'utf8',
  });
  assert.not.match(stdout + stderr, CONTROLS);
  assert.match(stdout, /\\u001b/);
});

test.after(() => {
  server.close();
  server.closeAllConnections();
  rmSync(dir, { recursive: true });
});

test.run();
