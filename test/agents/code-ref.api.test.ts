import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createGitPlatform, numbered, type Problem } from '../fixtures/git-platform.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

type Json = Record<string, unknown>;

const TOKEN = 'ghp_tokenThatNobodySees';
const p = await createGitPlatform(TOKEN);
const { server, acme, other, createAgent, intercept, countEvents, expireCache } = p;
const large = server.createRepository('large.git', ['trunk', ...numbered('branch', 3_000)], numbered('tag', 1_200));

test('an agent without a repository has the branch main and empty lists of branches and tags; pinning a ref for it is refused', async () => {
  const agent = await createAgent(null);
  assert.equal(await agent.read(), [null, 'main']);
  assert.equal(await agent.refs(), { branches: [], tags: [], complete: false });
  for (const name of ['main', 'trunk']) {
    const { status, body } = await agent.pin(name);
    assert.equal([status, (body as Problem).errors?.[0]?.code], [422, 'no_repository']);
  }
});

test('pinning a branch or tag of the repository stores it; pinning the same ref again appends no event and sends no request to the code host', async () => {
  const agent = await createAgent();
  for (const name of ['feature/login', 'v1.0.0']) {
    const { status, body } = await agent.pin(name);
    assert.equal([status, (body as Json).code_ref], [200, name]);
  }
  assert.equal(p.log.events.at(-1)?.data, { code_ref: 'v1.0.0' });
  const [events, requests] = [countEvents(), server.requests.length];
  expireCache();
  assert.is((await agent.pin('v1.0.0')).status, 200);
  assert.is((await agent.link({ url: acme })).status, 200);
  assert.is((await agent.link({ url: `${acme}/`, code_ref: 'v1.0.0' })).status, 200);
  assert.equal([countEvents(), server.requests.length], [events, requests]);
});

test('pinning a ref that the repository does not have is refused, and the error lists the most similar names of branches and tags', async () => {
  const agent = await createAgent();
  const { status, body } = await agent.pin('relaese-2');
  const { nearest, errors, code } = body as Problem;
  assert.equal([status, code, nearest, errors?.[0]?.code], [422, 'invalid', ['release-2', 'release-1'], 'unknown_ref']);
  assert.equal(((await agent.pin('login')).body as Problem).nearest, ['feature/login']);
  assert.equal(((await agent.pin('zzzzzzzz')).body as Problem).nearest, []);
  assert.equal(await agent.read(), [acme, 'trunk']);
});

test('pinning a ref whose name git does not allow is refused, and no request is sent to the code host', async () => {
  const agent = await createAgent();
  const requests = server.requests.length;
  const invalid = [
    '-x',
    'a..b',
    'refs/heads/../x',
    'a\nb',
    'a b',
    'a~1',
    'a^',
    'a:b',
    'a?',
    'a*',
    'a[b',
    'a\\b',
    '/a',
    'a/',
    'a//b',
    '.a',
    'a/.b',
    'a.',
    'a.lock',
    'a.lock/b',
    'a@{1}',
    'a\u202eb',
    '',
    'x'.repeat(129),
    7,
    null,
  ];
  for (const code_ref of invalid) {
    const { status, body } = await agent.pin(code_ref);
    assert.equal([code_ref, status, (body as Problem).errors?.[0]?.pointer], [code_ref, 422, '/code_ref']);
  }
  for (const code_ref of ['a\0b', '\ud800']) assert.is((await agent.pin(code_ref)).status, 422);
  assert.is(server.requests.length, requests);
});

test('a ref of 128 characters can be pinned', async () => {
  const agent = await createAgent(server.createRepository('long.git', ['x'.repeat(128)]));
  assert.equal((await agent.read())[1], 'x'.repeat(128));
});

test('if a repository has more than the 1,000 refs that are listed, each existing ref can still be pinned, and pinning an unknown ref is refused', async () => {
  const agent = await createAgent(large);
  const { branches, tags, complete } = await agent.refs();
  assert.equal([branches.length, tags.length, complete], [1_000, 1_000, false]);
  for (const name of ['branch-2999', 'tag-1199', 'trunk']) assert.equal([name, (await agent.pin(name)).status], [name, 200]);
  assert.is((await agent.pin('branch-3000')).status, 422);
});

test('a branch can be pinned even if it was created after the lists of refs were cached', async () => {
  const agent = await createAgent();
  assert.is((await agent.refs()).complete, true);
  server.addRefs('acme.git', ['created-later']);
  assert.not.ok((await agent.refs()).branches.includes('created-later'));
  assert.is((await agent.pin('created-later')).status, 200);
});

test('while the code host does not answer, the lists of refs are empty, and requests to change the ref or the repository are refused', async () => {
  const agent = await createAgent();
  expireCache();
  intercept(() => true);
  const events = countEvents();
  assert.equal(await agent.refs(), { branches: [], tags: [], complete: false });
  for (const answer of [
    await agent.pin('release-1'),
    await agent.link({ url: other }),
    await agent.link({ url: other, code_ref: 'main' }),
  ]) {
    assert.equal([answer.status, (answer.body as Problem).code], [503, 'unavailable']);
    assert.ok(Number(answer.headers.get('retry-after')) >= 1);
  }
  assert.equal([await agent.read(), countEvents()], [[acme, 'trunk'], events]);
  server.intercept();
  assert.is((await agent.pin('release-1')).status, 200);
});

test('if the code host cannot list all refs but can look up a single ref, pinning succeeds if that ref exists and is refused if it does not', async () => {
  const agent = await createAgent();
  expireCache();
  intercept(async (request, response) => {
    if (request.method !== 'POST') return false;
    const body = Buffer.concat(await request.toArray()).toString();
    const name = /ref-prefix (refs\/(?:heads|tags)\/.+?)0000/s.exec(body)?.[1];
    if (!name) return !response.writeHead(500).end().closed;
    const line = `${'a'.repeat(40)} ${name}\n`;
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' });
    response.end(name.endsWith('heads/release-1') ? `${(line.length + 4).toString(16).padStart(4, '0')}${line}0000` : '0000');
    return true;
  });
  assert.is((await agent.pin('release-1')).status, 200);
});

test('if the answer of the code host is not a list of refs, a request to pin a ref gets 502 and stores nothing', async () => {
  const agent = await createAgent();
  expireCache();
  const events = countEvents();
  intercept((request, response) => {
    if (request.method !== 'POST') return false;
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hello</h1>');
    return true;
  });
  const { status, body } = await agent.pin('release-2');
  assert.equal([status, (body as Problem).code], [502, 'bad_gateway']);
  assert.equal([await agent.read(), countEvents()], [[acme, 'trunk'], events]);
});

afterLastTest(() => p.close());

test.run();
