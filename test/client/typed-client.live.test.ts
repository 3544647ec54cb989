// limit: 300 s for this file (test/run.ts)
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createAdaptorServer } from '@hono/node-server';
import * as assert from 'uvu/assert';
import { targetsIn } from '../../infra/client/api-targets.ts';
import { createClient, type OperationName, problemIn, type Reply } from '../../infra/client/create-client.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { root } from '../fixtures/child-process.ts';
import { exampleOf } from '../fixtures/documents.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import { skillArchive } from '../fixtures/zip-archive.ts';
import { importMemory } from '../two-tenants/seed-memory.ts';

const p = await createTestPlatform();
const server = createAdaptorServer({ fetch: p.app.fetch }).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const tenant_id = p.tenant_id;

const { dir } = createTempDirectory();
const env = { ...process.env, NO_COLOR: '1', ANNALS_URL: url, ANNALS_KEY: p.key, TENANT: tenant_id };
const run = (...args: readonly string[]): Promise<{ stdout: string; stderr: string }> => runAs({}, ...args);
const runAs = (more: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<{ stdout: string; stderr: string }> =>
  promisify(execFile)(process.execPath, args, { cwd: dir, env: { ...env, ...more } }).catch((error: Error & { stdout?: string }) => {
    throw new Error(`${error.message}\n${error.stdout}`);
  });

// The sources have the functions of the package annals-client (test/packages/packages.live.test.ts checks its types).
mkdirSync(join(dir, 'node_modules'));
symlinkSync(root, join(dir, 'node_modules', 'annals-client'));
writeFileSync(join(dir, 'package.json'), '{"type": "module"}');
copyFileSync(join(root, 'test/fixtures/client-program.ts'), join(dir, 'program.ts'));
writeFileSync(join(dir, 'example.ts'), exampleOf('ts', 'updateAgent'));
writeFileSync(join(dir, 'runner.ts'), exampleOf('ts', 'getSkillPackage'));

test('the program creates agents although answers are lost, and lists, changes, uploads, downloads and reads the past', async () => {
  const { stdout } = await run('program.ts');
  assert.equal(JSON.parse(stdout), {
    ...{ slugs: ['critic', 'reviewer'], lostAnswers: 2, attempts: 6, renamed: 'Reader', before: 'Reviewer' },
    ...{ conflict: 'precondition_failed', changeOfPast: 'updateAgent cannot be called at an earlier time' },
    ...{ filename: 'report.txt', text: 'All is well.', me: 'demo' },
  });
  assert.is(p.eventsOf('AgentCreated').length, 2);
});

test('the documented example runs as it is printed', async () => {
  const { stdout } = await run('example.ts');
  assert.match(stdout, /somebody else has changed the agent/);
});

test('the documented example of a runner reads the memory and the archive of a skill, with a runner key', async () => {
  const agent = ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).body as { id: string }).id;
  const path = `${p.tenant}/agents/${agent}`;
  const { key } = (await p.send('POST', `${path}/runner-keys`, { body: { name: 'r' } })).body as { key: string };
  await importMemory(p, tenant_id, agent, { key: p.key, text: 'Every release is tagged.' });
  const raw = formBody({ name: 'upload', filename: 'a.zip', content: skillArchive('notes') });
  const imported = await p.send('POST', `${p.tenant}/skills/import`, { raw, headers: { 'content-type': FORM_TYPE } });
  await p.send('POST', `${path}/skills`, { body: { skill_id: (imported.body as { id: string }).id } });
  const { stdout } = await runAs({ ANNALS_KEY: key, AGENT: agent }, 'runner.ts');
  assert.match(stdout, /a\.txt Every release is tagged\.\nnotes \d+ \[.*SKILL\.md.*\]\n1\n/s);
});

/** The operations whose reply is the response itself. The compiler demands that the list is complete. */
const RESPONSES: { readonly [Name in OperationName as Reply<Name> extends Response ? Name : never]: true } = {
  beginSignIn: true,
  openInvitation: true,
  exportAuditLogs: true,
  finishSignIn: true,
  getDeliveryBody: true,
  getFile: true,
  getMailAttachment: true,
  getSkillPackage: true,
  readBrandFavicon: true,
  readBrandLogo: true,
  readDocs: true,
  readDocsScript: true,
  readDocsStart: true,
  readLandingPage: true,
  readLlmsText: true,
  readMarkdownDocs: true,
  readMetrics: true,
  readPlatformFavicon: true,
  readUseCaseIcon: true,
  streamTenantChanges: true,
};

test('for every operation, the client reads the response as the type of its reply says', async () => {
  const document = await (await fetch(`${url}/openapi.json`)).json();
  const read = [...targetsIn(document as never)].filter(([, { reply }]) => reply === 'response').map(([name]) => name);
  assert.equal(read.sort(), Object.keys(RESPONSES).sort());
});

type Handled = { readonly status: number; readonly headers?: Record<string, string> };

/** Runs `work` with a client of a server that answers every request but that for the OpenAPI document as `answer` says. */
const withServer = async (answer: (attempt: number) => Handled | null, work: (address: string) => Promise<void>): Promise<number> => {
  let attempts = 0;
  const substitute = createServer((request, response) => {
    if (request.url === '/openapi.json') {
      void p.send('GET', '/openapi.json').then(({ text }) => response.end(text));
      return;
    }
    attempts += 1;
    const answered = answer(attempts);
    if (answered === null) request.socket.destroy();
    else
      response
        .writeHead(answered.status, { 'content-type': 'application/json', ...answered.headers })
        .end(answered.status === 200 ? '[]' : '{"title": "Not now", "status": 503, "code": "unavailable"}');
  }).listen(0, '127.0.0.1');
  await once(substitute, 'listening');
  await work(`http://127.0.0.1:${(substitute.address() as AddressInfo).port}`);
  substitute.closeAllConnections();
  substitute.close();
  return attempts;
};

const NOT_NOW: Handled = { status: 503, headers: { 'retry-after': '1' } };

test('a read is repeated after the delay of Retry-After, and after a broken connection', async () => {
  const startedAt = performance.now();
  const attempts = await withServer(
    (attempt) => (attempt === 1 ? NOT_NOW : attempt === 2 ? null : { status: 200 }),
    async (address) => {
      assert.equal(await createClient({ url: address, key: 'x' }).call('listAgents', { tenant_id }), []);
    },
  );
  assert.is(attempts, 3);
  assert.ok(performance.now() - startedAt >= 1_000);
});

test('a call ends with the last problem after the given number of repeats, and at once if Retry-After is longer than a minute', async () => {
  const problemOfCall = (address: string) =>
    createClient({ url: address, retries: 1 })
      .call('listAgents', { tenant_id })
      .then(() => null, problemIn);
  const repeated = await withServer(
    () => NOT_NOW,
    async (address) => {
      const problem = await problemOfCall(address);
      assert.equal([problem?.code, problem?.retry_after], ['unavailable', 1]);
    },
  );
  assert.is(repeated, 2);
  const long = await withServer(
    () => ({ status: 503, headers: { 'retry-after': '61' } }),
    async (address) => void (await problemOfCall(address)),
  );
  assert.is(long, 1);
});

test('a change that takes no Idempotency-Key is sent only once', async () => {
  const attempts = await withServer(
    () => NOT_NOW,
    async (address) => void (await createClient({ url: address }).ask('signInByKey', { key: 'x' })),
  );
  assert.is(attempts, 1);
});

test('if nothing answers in time, the call throws a one-line error that is not a problem of the API', async () => {
  const slow = await fetch(`${url}/openapi.json`).then((response) => response.text());
  const never: typeof fetch = (input, init) =>
    String(input).endsWith('/openapi.json')
      ? Promise.resolve(new Response(slow))
      : new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)));
  const error: unknown = await createClient({ url, fetch: never, timeoutMs: 50, retries: 0 })
    .call('readMe')
    .catch((reason) => reason);
  assert.is(String(error), `Error: ${url} does not answer: no answer within 50 ms`);
  assert.is(problemIn(error), null);
});

test('a read sends the position of the latest earlier change, but a read of the past does not; a change has its own key', async () => {
  const document = await fetch(`${url}/openapi.json`).then((response) => response.text());
  const sent: Headers[] = [];
  const positions = ['7:7', '12:12', '9:9'];
  const recording: typeof fetch = async (input, init) => {
    if (String(input).endsWith('/openapi.json')) return new Response(document);
    sent.push(new Headers(init?.headers));
    return new Response('{}', { headers: init?.method === 'GET' ? {} : { 'consistency-token': positions.shift()! } });
  };
  const client = createClient({ url, key: 'x', fetch: recording });
  const agent = { tenant_id, agent_id: 'c1' };
  await client.call('getAgent', agent);
  for (const name of ['One', 'Two', 'Three']) await client.call('updateAgent', { ...agent, name });
  await client.call('getAgent', agent);
  await client.at('7:7').call('getAgent', agent);
  assert.equal(
    sent.map((headers) => headers.get('consistency-token')),
    [null, null, null, null, '12:12', null],
  );
  const keys = sent.map((headers) => headers.get('idempotency-key'));
  assert.equal([keys[0], keys[4], new Set(keys.slice(1, 4)).size, keys.slice(1, 4).includes(null)], [null, null, 3, false]);
  await createClient({ url, fetch: recording, retries: 0 }).ask('getAgent', agent);
  assert.is(sent.at(-1)!.get('authorization'), process.env.ANNALS_KEY ? `Bearer ${process.env.ANNALS_KEY}` : null);
});

afterLastTest(async () => {
  server.close();
  await p.close();
});

test.run();
