import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAdaptorServer } from '@hono/node-server';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ApiOperation, operationsIn } from '../../infra/cli/api/api-document.ts';
import { optionName, requestOf } from '../../infra/cli/api/operation-arguments.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { eventually, mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const server = createAdaptorServer({ fetch: p.app.fetch }).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const annals = (words: readonly string[], key = p.key) =>
  startProgram(process.execPath, [mainFile, ...words], { env: { ...unconfiguredEnvironment(), ANNALS_URL: url, ANNALS_KEY: key } });
const createAgent = async (slug: string): Promise<Json> =>
  (await p.send('POST', `${p.tenant}/agents`, { body: { name: slug, slug } })).body as Json;

test('annals api --watch prints the answer, and again after each change; when the key is revoked, it prints the problem and exits with 1', async () => {
  await createAgent('first');
  const { key, user_id } = await addMember(p, 'ADMIN', p.tenant_id, 'watch@example.com');
  const watching = annals(['api', 'listAgents', '--watch', '--tenant-id', p.tenant_id], key);
  const printed = (): string[][] =>
    watching
      .output()
      .split('\n')
      .filter((line) => line.startsWith('['))
      .map((line) => (JSON.parse(line) as { slug: string }[]).map(({ slug }) => slug).sort());
  await watching.waitForOutput(/first/);
  await createAgent('second');
  await watching.waitForOutput(/second/);
  await p.send('PATCH', p.tenant, { body: { name: 'A change that the list of agents does not show' } });
  await createAgent('third');
  await watching.waitForOutput(/third/);
  assert.equal(printed(), [['first'], ['first', 'second'], ['first', 'second', 'third']]);
  assert.is((await p.send('DELETE', `${p.tenant}/members/${user_id}`)).status, 204);
  assert.is(await watching.ended, 1);
  assert.match(watching.output(), /^40[134] .+\n {2}request id: \S+$/m);
});

test('annals api --watch and --as-of refuse operations that they do not apply to', async () => {
  const agent = await createAgent('fourth');
  const run = async (...words: string[]) => {
    const program = annals(['api', ...words, '--tenant-id', p.tenant_id]);
    return { code: await program.ended, output: program.output() };
  };
  const change = ['--agent-id', String(agent.id), '--name', 'Late'];
  const watched = await run('updateAgent', ...change, '--watch');
  assert.is(watched.code, 2);
  assert.match(watched.output, /updateAgent cannot be watched: --watch needs a read of a tenant/);
  assert.equal(await run('updateAgent', ...change, '--as-of', '2026-01-01T00:00:00Z'), {
    code: 1,
    output: 'annals: updateAgent makes a change, which cannot be made at an earlier time: call it without --as-of\n',
  });
  assert.equal(await run('getRunnerPresence', '--agent-id', String(agent.id), '--as-of', '2026-01-01T00:00:00Z'), {
    code: 1,
    output: 'annals: getRunnerPresence can only show the present: call it without --as-of\n',
  });
  const past = await run('listAgents', '--as-of', new Date(Date.now() - 3_600_000).toISOString());
  assert.equal(past, { code: 0, output: '[]\n' });
  await eventually('the agent still has its name', async () => {
    const { body } = await p.send('GET', `${p.tenant}/agents/${agent.id}`);
    return (body as Json).name === 'fourth';
  });
});

type Media = { readonly example?: unknown };
type Document = { readonly paths: Record<string, Record<string, { readonly requestBody?: { readonly content: Record<string, Media> } }>> };

const document = (await p.send('GET', '/openapi.json')).body as Document;
const exampleOf = ({ path, method, body }: ApiOperation): unknown =>
  body === null ? undefined : document.paths[path]![method]!.requestBody!.content[body.type]!.example;
const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

test('annals api can build a request for every operation of the OpenAPI document, from options and from --json', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'annals-api-'));
  const file = join(dir, 'file.txt');
  writeFileSync(file, 'A file');
  const operations = operationsIn(document);
  assert.ok(operations.length > 250);
  for (const operation of operations) {
    const required = operation.parameters
      .filter(({ required: isRequired }) => isRequired)
      .flatMap(({ name }) => [`--${optionName(name)}`, 'x1']);
    const example = exampleOf(operation);
    const inPath = operation.parameters.filter(({ in: place }) => place === 'path').map(({ name }) => name);
    const isForm = operation.body?.type === 'multipart/form-data';
    const fields = Object.entries(Array.isArray(example) ? {} : ((example ?? {}) as Json)).filter(([name]) => !inPath.includes(name));
    const isFile = (name: string): boolean => isForm && operation.body?.schema.properties?.[name]?.format === 'binary';
    const options = fields.flatMap(([name, value]) => [`--${optionName(name)}=${isFile(name) ? file : textOf(value)}`]);
    const hasFields = Object.keys(operation.body?.schema.properties ?? {}).length > 0;
    const words = hasFields || operation.body === null ? options : ['--json', JSON.stringify(example ?? {})];
    const { request } = await requestOf(operation, [...required, ...words], async (source) => source);
    assert.is(request.method, operation.method.toUpperCase(), operation.name);
    assert.not.match(request.path, /[{}]/, operation.name);
    if (isForm) assert.ok(request.body instanceof FormData, operation.name);
    else if (fields.length > 0) assert.equal(JSON.parse(request.body as string), Object.fromEntries(fields), operation.name);
    if (operation.body === null || isForm) continue;
    const whole = await requestOf(operation, [...required, '--json', JSON.stringify(example ?? {})], async (source) => source);
    assert.equal(JSON.parse(whole.request.body as string), example ?? {}, operation.name);
  }
  rmSync(dir, { recursive: true });
});

afterLastTest(async () => {
  server.close();
  await p.close();
});

test.run();
