// limit: 180 s for this file (test/run.ts)

import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { root } from '../fixtures/child-process.ts';
import { createAgent, createIntegration, deliver, startConsole } from '../fixtures/console-platform.ts';
import { createRunner } from '../fixtures/console-sessions.ts';
import { exampleOf } from '../fixtures/documents.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const MAX_LINES = 1_000;

const hasPython = spawnSync('python3', ['--version']).status === 0;
const pythonTest = hasPython ? test : test.skip;
if (!hasPython) console.log('skipped: python3 is not installed');

const p = await startConsole();
const { dir } = createTempDirectory();
const requests: { method: string; path: string; key: string | undefined }[] = [];
/** How many answers to POST requests do not arrive, although the platform has processed the request. */
let lostAnswers = 0;
/** The statuses with which the next requests are answered before the platform gets them. */
const statuses: number[] = [];

const sentHeaders = ({ headers }: IncomingMessage): Record<string, string> => {
  const others = omit(headers as Record<string, string>, 'accept-encoding');
  return others;
};

const server = createServer(async (request, response) => {
  const { method = 'GET', url: path = '/' } = request;
  const body = await buffer(request);
  const headers = sentHeaders(request);
  requests.push({ method, path, key: headers['idempotency-key'] });
  const status = path === '/openapi.json' ? undefined : statuses.shift();
  if (status !== undefined) return void response.writeHead(status, { location: 'http://elsewhere.example/', 'retry-after': '0' }).end();
  const answer = await p.app.request(path, { method, headers, ...(method === 'GET' ? {} : { body }) });
  if (method === 'POST' && lostAnswers > 0) {
    lostAnswers -= 1;
    return void request.socket.destroy();
  }
  const sent = omit(Object.fromEntries(answer.headers), 'content-encoding');
  response.writeHead(answer.status, sent).end(Buffer.from(await answer.arrayBuffer()));
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

copyFileSync(join(root, 'docs/annals.py'), join(dir, 'annals.py'));
const env = { ...process.env, ANNALS_URL: url, ANNALS_KEY: p.key, PYTHONDONTWRITEBYTECODE: '1' };
const python = async (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<string> =>
  (await promisify(execFile)('python3', args, { cwd: dir, env: { ...env, ...more }, maxBuffer: 64 * 1024 * 1024 })).stdout;
/** Runs a program after the lines that every program needs. Returns the value of its variable `result`. */
const run = async (lines: string): Promise<unknown> => {
  const start = `import json\nfrom annals import Annals, Problem\nannals, tenant = Annals(), {'tenant_id': '${p.tenant_id}'}\n`;
  return JSON.parse(await python(['-c', `${start}${lines}\nprint(json.dumps(result))`]));
};

const agent = await createAgent(p, 'Reader');
const integration = await createIntegration(p, agent);
const { id: delivery = '' } = await deliver(p, integration, 'push', { ref: 'refs/heads/main' });

pythonTest('the client has at most 1,000 lines and imports only modules of Python', async () => {
  const source = readFileSync(join(root, 'docs/annals.py'), 'utf8');
  assert.ok(source.split('\n').length <= MAX_LINES);
  const modules = [...source.matchAll(/^(?:import|from) (\w+)/gm)].map(([, name]) => name!).filter((name) => name !== '__future__');
  assert.is((await python(['-c', `import sys; print(set(${JSON.stringify(modules)}) <= sys.stdlib_module_names)`])).trim(), 'True');
});

pythonTest('the documented example of the client runs as it is printed', async () => {
  writeFileSync(join(dir, 'example.py'), exampleOf('python', 'updateAgent'));
  assert.match(await python(['example.py']), /somebody else has changed the agent/);
  assert.is(((await p.send('GET', `${p.tenant}/agents/${agent}`)).body as { name: string }).name, 'Reader 2');
});

pythonTest('a change whose answers are lost is repeated with the same Idempotency-Key, and acts once', async () => {
  lostAnswers = 2;
  const before = p.eventsOf('AgentCreated').length;
  const name = await run(`result = annals.call('createAgent', {**tenant, 'name': 'Once', 'slug': 'once'})['name']`);
  assert.equal([name, lostAnswers, p.eventsOf('AgentCreated').length - before], ['Once', 0, 1]);
  const keys = requests.filter(({ method, path }) => method === 'POST' && path.endsWith('/agents')).map(({ key }) => key);
  assert.is(keys.length, 3);
  assert.is(new Set(keys).size, 1);
});

pythonTest('a request that fails for a temporary reason is repeated at most `retries` times', async () => {
  statuses.push(503, 429);
  assert.is(await run(`result = len(annals.call('listAgents', {**tenant, 'limit': 1}))`), 1);
  statuses.push(503, 503);
  assert.is(
    await run(`annals = Annals(retries=1)\ntry:\n  annals.call('readMe')\nexcept Problem as problem:\n  result = problem.status`),
    503,
  );
});

pythonTest('a list is read through all its pages, and a read contains the changes of the client before it', async () => {
  const found = await run(`
annals.call('createAgent', {**tenant, 'name': 'Late', 'slug': 'late'})
result = sorted(agent['slug'] for agent in annals.each('listAgents', {**tenant, 'limit': 1}))`);
  assert.equal(found, ['late', 'once', 'reader']);
});

pythonTest('a refused request raises a Problem with code, status, wrong fields and the id of the request', async () => {
  const problem = await run(`
try:
  annals.call('createAgent', {**tenant, 'name': '', 'slug': 'x'})
except Problem as problem:
  result = [problem.code, problem.status, problem.errors[0]['pointer'], bool(problem.request_id), 'createAgent: ' in str(problem)]`);
  assert.equal(problem, ['invalid', 422, '/name', true, true]);
});

pythonTest('a refused stream raises a Problem, too', async () => {
  const problem = await run(`
try:
  Annals(key='ann_unknown').stream('streamTenantChanges', tenant)
except Problem as problem:
  result = [problem.status, bool(problem.code)]`);
  assert.equal(problem, [401, true]);
});

pythonTest('a missing path field, an unknown operation and a redirect are errors', async () => {
  statuses.push(302);
  const errors = await run(`
result = []
for operation, fields in [('getAgent', tenant), ('nothing', {}), ('readMe', {})]:
  try:
    annals.call(operation, fields)
  except (ValueError, Problem) as error:
    result.append(str(error))`);
  const [missing, unknown, redirect] = errors as string[];
  assert.is(missing, 'getAgent needs agent_id');
  assert.match(unknown!, /has no operation nothing/);
  assert.match(redirect!, /status 302/);
});

pythonTest('a file is uploaded with its name, and downloaded again', async () => {
  const result = await run(`
session = annals.call('startSession', {**tenant, 'agent_id': '${agent}', 'title': 'Files'})
file = ('Übersicht "1".txt', 'Größe'.encode())
uploaded = annals.call('addSessionAttachment', {**tenant, 'session_id': session['id'], 'upload': file})
result = [uploaded['filename'], annals.call('getFile', {**tenant, 'digest': uploaded['sha256']}).decode()]`);
  assert.equal(result, ['Übersicht "1".txt', 'Größe']);
});

pythonTest('the documented runner answers a delivery in one session, also if the same event comes again', async () => {
  writeFileSync(join(dir, 'agent.py'), exampleOf('python', 'completeSession'));
  const key = await createRunner(p, agent);
  const event = {
    id: crypto.randomUUID(),
    type: 'annals.webhook.delivery',
    tenant: p.tenant_id,
    agent,
    providerevent: 'push',
    data: { ref: 'main' },
  };
  const answerTo = async (): Promise<string> => {
    const child = spawn('python3', ['agent.py'], { cwd: dir, env: { ...env, ANNALS_KEY: key, ANNALS_SUBJECT: delivery } });
    child.stdin.end(JSON.stringify(event));
    const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    assert.is(code, 0, errors);
    return output.trim();
  };
  const session = await answerTo();
  assert.is(await answerTo(), session);
  await p.waitForProjections();
  const { body } = await p.send('GET', `${p.tenant}/sessions/${session}`);
  const { session: ended, messages } = body as { session: { title: string; status: string }; messages: { content: string }[] };
  assert.equal(
    [ended.title, ended.status, messages.map(({ content }) => content)],
    ['push', 'completed', ['I have received 15 characters.']],
  );
});

pythonTest('the written types name every operation and every schema, and Python can resolve them', async () => {
  writeFileSync(join(dir, 'annals_types.py'), await python(['annals.py', 'types']));
  const check = `
import annals_types, inspect, json, typing
names = {name: typing.get_type_hints(value) for name, value in vars(annals_types).items() if typing.is_typeddict(value)}
source = inspect.getsource(annals_types)
document = annals_types.Annals().document()
missing = [name for name in document['components']['schemas'] if name not in vars(annals_types)]
operations = [one['operationId'] for methods in document['paths'].values() for one in methods.values()]
missing += [name for name in operations if f"Literal[{name!r}]" not in source]
print(json.dumps([len(names) > 300, missing, str(names['AgentRead']['id']), issubclass(annals_types.TypedAnnals, annals_types.Annals)]))`;
  assert.equal(JSON.parse(await python(['-c', check])), [true, [], "<class 'str'>", true]);
});

afterLastTest(async () => {
  server.close();
  await p.close();
});

test.run();
