import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { callOperation } from '../../infra/cli/api/call-operation.ts';
import { describeOperation, listOperations } from '../../infra/cli/api/describe-operations.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { bareEnvironment, mainFile, startProgram } from '../fixtures/child-process.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const server = createServer(async (request, response) => {
  const headers = omit(request.headers as Record<string, string>, 'accept-encoding');
  const body = request.method === 'GET' ? {} : { body: await buffer(request) };
  const answer = await p.app.request(request.url!, { method: request.method!, headers, ...body });
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const tenant = p.tenant.split('/').at(-1)!;

/** Runs a command and collects its output. @returns its exit code and the lines on both output streams */
const printed = async (run: () => Promise<number>) => {
  const [out, err]: [string[], string[]] = [[], []];
  const { log, error } = console;
  console.log = (line: string) => void out.push(line);
  console.error = (line: string) => void err.push(line);
  try {
    return { code: await run(), out: out.join('\n'), err: err.join('\n') };
  } finally {
    Object.assign(console, { log, error });
  }
};
const call = (operation: string, ...words: string[]) => printed(() => callOperation({ url, key: p.key }, operation, words));
const inTenant = (operation: string, ...words: string[]) => call(operation, '--tenant-id', tenant, ...words);
const isUsageError = (run: Promise<unknown>, pattern: RegExp) =>
  run.then(
    () => assert.unreachable(String(pattern)),
    ({ name, message }: Error) => {
      assert.is(name, 'CLIError', message);
      assert.match(message, pattern);
    },
  );

test('annals api sends each field as a parameter of path, query, header or JSON body, with the type that the operation defines', async () => {
  const created = await inTenant('createAgent', '--name', 'Reviewer', '--slug', 'reviewer', '--is-admin-only', '--description', 'null');
  assert.equal([created.code, created.err], [0, '']);
  const agent = JSON.parse(created.out) as Json;
  assert.equal([agent.slug, agent.is_admin_only, agent.description], ['reviewer', true, null]);
  const listed = JSON.parse((await inTenant('list-agents', '--q', 'review', '--is_active=true')).out) as Json[];
  assert.equal(
    listed.map(({ id }) => id),
    [agent.id],
  );
  const id = String(agent.id);
  const renamed = await inTenant('updateAgent', '--agent-id', id, '--json', '{"name":"Critic"}', '--iteration-warn-threshold', '7');
  assert.equal([renamed.code, (JSON.parse(renamed.out) as Json).iteration_warn_threshold], [0, 7]);
  const late = await inTenant('updateAgent', '--agent-id', id, '--name', 'Late', '--if-match', '"0"');
  assert.is(late.code, 1);
  assert.match(late.err, /^412 .+\n {2}request id: /);
});

test('annals api accepts a list as repeated options or as JSON in brackets; with --json, it also accepts a body that is a list', async () => {
  const agent = (JSON.parse((await inTenant('listAgents')).out) as Json[])[0]!;
  const connect = [
    'connectWebhookIntegration',
    '--provider',
    'github',
    '--agent-id',
    String(agent.id),
    '--label',
    'Code',
    '--event-filter',
    'push',
  ];
  const { out, err } = await inTenant(...(connect as [string]), '--event-filter', 'issues');
  assert.is(err, '');
  const hook = JSON.parse(out) as Json;
  assert.equal(hook.event_filter, ['push', 'issues']);
  const update = await inTenant('updateWebhookIntegration', '--id', String(hook.id), '--event-filter', '["ping"]');
  assert.equal((JSON.parse(update.out) as Json).event_filter, ['ping']);
  const patterns = '[{"pattern":"T-[0-9]+","tag":"TICKET"}]';
  const replaced = await inTenant('replaceRedactionPatterns', '--json', patterns);
  assert.equal([replaced.code, (JSON.parse(replaced.out) as Json[]).length], [0, 1], replaced.err);
});

test('annals api --all prints the items of every page, also in a table', async () => {
  for (const n of [1, 2, 3]) await p.send('POST', `${p.tenant}/agents`, { body: { name: `Agent ${n}`, slug: `agent-${n}` } });
  const total = (JSON.parse((await inTenant('listAgents')).out) as Json[]).length;
  assert.is((JSON.parse((await inTenant('listAgents', '--limit', '1', '--all')).out) as Json[]).length, total);
  assert.match((await inTenant('listAgents', '--output', 'table')).out, /^CREATED_AT +NAME .* ID\n/);
  const { out } = await inTenant('listAgents', '--columns', 'slug,is_seed', '--limit', '1');
  assert.match(out, /^SLUG +IS_SEED\n\S+ +(true|false)$/);
});

test('if the API answers with a problem, annals api prints its fields and the request id, and exits with 1', async () => {
  const { code, out, err } = await inTenant('createAgent', '--name', 'X', '--slug', 'NOT A SLUG');
  assert.equal([code, out], [1, '']);
  assert.match(err, /^422 [^\n:]+: \/slug: [^\n]+\n {2}request id: \S+$/);
});

test('if annals api cannot build a request, it prints a usage error that names the wrong option or, for an unknown operation, similar operations', async () => {
  await isUsageError(call('agents'), /no operation agents; similar: /);
  await isUsageError(inTenant('createAgent', '--nonsense', 'x'), /createAgent has no field --nonsense/);
  await isUsageError(inTenant('createAgent', 'stray'), /Unexpected argument stray/);
  await isUsageError(inTenant('createAgent', '--name'), /--name needs a value/);
  await isUsageError(inTenant('getAgent'), /needs --agent-id|no operation/);
  await isUsageError(inTenant('updateAgent', '--agent-id', 'a', '--iteration-warn-threshold', 'x'), /must be a number/);
  await isUsageError(inTenant('updateAgent', '--agent-id', 'a', '--json', '{'), /--json must be JSON/);
  await isUsageError(inTenant('listAgents', '--output', 'xml'), /--output must be json or table/);
  await isUsageError(inTenant('listAgents', '--columns', 'slug,none'), /There is no column none; there are id, /);
  await isUsageError(inTenant('listAgents', '--columns', ','), /--columns must be names of fields/);
  await isUsageError(inTenant('listAgents', '--columns', 'slug', '--output', 'json'), /--columns is for tables/);
});

test('annals api without an operation lists all operations; with --help, it shows the fields of an operation with types and allowed values', async () => {
  const { code, out } = await printed(() => listOperations(url));
  assert.is(code, 0);
  assert.match(out, /^createAgent +POST +\/tenant\/\{tenant_id\}\/agents +Create an agent$/m);
  const help = await printed(() => describeOperation(url, 'listAgents'));
  assert.match(help.out, /--limit <integer> .+\n/);
  assert.match(help.out, /--kind <user \| coding \| analyst \| dba>/);
  assert.match((await printed(() => describeOperation(url, 'createAgent'))).out, /--name <string> \(required\)/);
});

test('annals api uploads the file at a given path', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'annals-api-'));
  const file = join(dir, 'notes.md');
  writeFileSync(file, '# Notes');
  const [operation] = (await printed(() => listOperations(url))).out.split('\n').filter((line) => /importMemory|uploadMemory/.test(line));
  const agent = (JSON.parse((await inTenant('listAgents')).out) as Json[])[0]!;
  const { code, err } = await inTenant(operation!.split(' ')[0]!, '--agent-id', String(agent.id), '--file', file);
  assert.equal([code, err], [0, '']);
  rmSync(dir, { recursive: true });
});

test('the shell completion offers commands, options and operations of the running platform; an unknown shell exits with 2', async () => {
  const complete = async (...words: string[]) => {
    const env = { ...bareEnvironment(), ANNALS_URL: url };
    const program = startProgram(process.execPath, [mainFile, 'complete', ...words], { env });
    return { code: await program.ended, output: program.output() };
  };
  assert.match((await complete('--', 'tri')).output, /^trigger\tSend a signed sample/);
  assert.match((await complete('--', 'vault', 'rotate', '--')).output, /^--due\t/m);
  assert.match((await complete('--', 'api', 'createAg')).output, /^createAgent\tCreate an agent$/m);
  assert.match((await complete('zsh')).output, /^#compdef annals/m);
  assert.is((await complete('tcsh')).code, 2);
});

test('annals api --json - reads standard input in UTF-8 and UTF-16; if it is not text, the error says what it is', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'annals-api-'));
  const env = { ...bareEnvironment(), ANNALS_URL: url, ANNALS_KEY: p.key };
  const send = async (content: Buffer) => {
    writeFileSync(join(dir, 'body'), content);
    const words = [process.execPath, mainFile, 'api', 'createAgent', '--tenant-id', tenant, '--json', '-'].map((word) => `'${word}'`);
    const program = startProgram('sh', ['-c', `${words.join(' ')} < '${join(dir, 'body')}'`], { env });
    return { code: await program.ended, output: program.output() };
  };
  const body = (slug: string): string => `\ufeff${JSON.stringify({ name: 'Grün', slug })}\r\n`;
  for (const [slug, encoding] of [
    ['of-utf-8', 'utf8'],
    ['of-utf-16', 'utf16le'],
  ] as const) {
    const { code, output } = await send(Buffer.from(body(slug), encoding));
    assert.equal([code, /"name":\s?"Grün"/.test(output)], [0, true], output);
  }
  const refused = await send(Buffer.from('{"name":"Gr\xfcn"}', 'latin1'));
  assert.is(refused.code, 2, refused.output);
  assert.match(refused.output, /The standard input is not a text in UTF-8, but perhaps in Windows-1252/);
  rmSync(dir, { recursive: true });
});

test('annals api reads ANNALS_URL and ANNALS_KEY from the environment; if the platform is down, it prints one line and exits with 1', async () => {
  const key = p.key;
  const env = { ...bareEnvironment(), ANNALS_URL: `${url}/`, ANNALS_KEY: key };
  const listed = startProgram(process.execPath, [mainFile, 'api', 'listAgents', '--tenant-id', tenant], { env });
  assert.is(await listed.ended, 0, listed.output());
  server.close();
  server.closeAllConnections();
  const down = startProgram(process.execPath, [mainFile, 'api', 'listAgents'], { env });
  assert.is(await down.ended, 1);
  assert.match(down.output(), /^annals: http:\/\/127\.0\.0\.1:\d+ does not answer: \S+$/m);
});

afterLastTest(() => p.close());

test.run();
