import * as assert from 'uvu/assert';
import { createGuardedClient } from '../../infra/egress/guarded-client.ts';
import { createCodeHost } from '../../infra/git/code-host.ts';
import { startGitServer } from '../fixtures/git-server.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const numbered = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${String(index).padStart(4, '0')}`);

type Options = { readonly tokens?: Record<string, string>; readonly idleTimeoutMs?: number; readonly timeoutMs?: number };

/**
 * For the current test, starts a git server and a client that may connect to it. The client's clock stands still unless
 * the test moves it.
 */
const open = async ({ tokens = {}, idleTimeoutMs = 5_000, timeoutMs = 60_000 }: Options = {}) => {
  const server = await startGitServer();
  const client = createGuardedClient({ allow: ['127.0.0.1'], idleTimeoutMs });
  const clock = { now: 0 };
  afterTest(async () => {
    await client.close();
    await server.close();
  });
  return { ...server, clock, host: createCodeHost({ client, tokens, timeoutMs, now: () => clock.now }) };
};

test('the branches and tags of a repository are listed with version 2 of the Git protocol; HEAD is returned as the name of its branch', async () => {
  const { host, createRepository, requests } = await open();
  const url = createRepository('small.git', ['trunk', 'feature/login', 'ünï'], ['v1.0', 'v2']);
  const { branches, tags, complete, failed } = await host.listRefs(url);
  assert.equal([branches, tags, complete, failed], [['feature/login', 'trunk', 'ünï'], ['v1.0', 'v2'], true, null]);
  assert.equal(await host.headBranch(url), { value: 'trunk', failed: null });
  assert.equal(requests.filter((line) => line === 'POST /small.git/git-upload-pack').length, 3);
});

test('the lists of refs of an empty repository are empty and complete, and it has no HEAD branch', async () => {
  const { host, createRepository } = await open();
  const url = createRepository('empty.git', []);
  const { branches, tags, complete } = await host.listRefs(url);
  assert.equal([branches, tags, complete], [[], [], true]);
  assert.equal(await host.headBranch(url), { value: null, failed: null });
});

test('at most 1,000 branches and 1,000 tags of a repository are listed; a list counts as complete only if it has fewer than 1,000 names', async () => {
  const { host, createRepository } = await open();
  const large = await host.listRefs(createRepository('large.git', numbered('branch', 3_000), numbered('tag', 999)));
  assert.equal([large.branches.length, large.tags.length, large.complete, large.failed], [1_000, 999, false, null]);
  assert.is(large.branches[999], 'branch-0999');
  const below = await host.listRefs(createRepository('below.git', numbered('branch', 999), numbered('tag', 999)));
  assert.equal([below.branches.length, below.tags.length, below.complete], [999, 999, true]);
  const full = await host.listRefs(createRepository('full.git', ['main'], numbered('tag', 1_000)));
  assert.equal([full.tags.length, full.complete], [1_000, false]);
});

test('a branch or tag that is not in a truncated list is found by its full name, but not by a prefix of the name', async () => {
  const { host, createRepository } = await open();
  const url = createRepository('large.git', numbered('branch', 3_000), numbered('tag', 1_500));
  assert.equal(await host.hasRef(url, 'branch-2999'), { value: true, failed: null });
  assert.equal(await host.hasRef(url, 'tag-1499'), { value: true, failed: null });
  assert.equal(await host.hasRef(url, 'branch-'), { value: false, failed: null });
  assert.equal(await host.hasRef(url, 'branch-3000'), { value: false, failed: null });
});

test('a list of refs is fetched again only after 60 seconds; simultaneous requests for the list fetch it once', async () => {
  const { host, createRepository, addRefs, requests, clock } = await open();
  const url = createRepository('cached.git', ['main']);
  const [first, second] = await Promise.all([host.listRefs(url), host.listRefs(url)]);
  assert.is(first, second);
  assert.equal([first.isCached, requests.length], [false, 4]);
  addRefs('cached.git', ['later']);
  clock.now = 59_999;
  const cached = await host.listRefs(url);
  assert.equal([cached.isCached, cached.branches, requests.length], [true, ['main'], 4]);
  clock.now = 60_000;
  const renewed = await host.listRefs(url);
  assert.equal([renewed.isCached, renewed.branches], [false, ['later', 'main']]);
});

test('a token is sent only after the code host has asked for credentials; if no user name is configured, it is sent with the name x-access-token', async () => {
  for (const [token, credentials] of [
    ['ghp_secret', 'x-access-token:ghp_secret'],
    ['bot:pass:word', 'bot:pass:word'],
  ] as const) {
    const { host, createRepository, intercept, requests } = await open({ tokens: { '127.0.0.1': token } });
    const url = createRepository('private.git', ['main'], ['v1']);
    const seen = new Set<string | undefined>();
    intercept(({ headers }, response) => {
      seen.add(headers.authorization);
      if (headers.authorization === `Basic ${Buffer.from(credentials).toString('base64')}`) return false;
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return true;
    });
    const { branches, tags, complete, failed } = await host.listRefs(url);
    assert.equal([branches, tags, complete, failed], [['main'], ['v1'], true, null]);
    assert.equal([seen.size, seen.has(undefined)], [2, true]);
    assert.is(requests.length, 6);
  }
});

for (const [condition, tokens] of [
  ['without a token for its host', {}],
  ['with a token that the host does not accept', { '127.0.0.1': 'wrong-secret' }],
  ['with a token for another host', { 'git.example.com': 'wrong-secret' }],
] as const)
  test(`a private repository cannot be read ${condition}, and no error message contains the token`, async () => {
    const { host, createRepository, intercept } = await open({ tokens });
    const url = createRepository('private.git', ['main']);
    intercept((_, response) => {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return true;
    });
    const { branches, complete, failed } = await host.listRefs(url);
    assert.equal([branches, complete, failed?.failure], [[], false, 'no_repository']);
    assert.not.match(JSON.stringify([failed, await host.hasRef(url, 'main'), await host.headBranch(url)]), /secret|private/);
  });

test('a token is not sent to the target of a redirect to another host', async () => {
  const target = await open();
  target.createRepository('moved.git', ['main']);
  const { host, createRepository, intercept } = await open({ tokens: { '127.0.0.1': 'secret' } });
  const url = createRepository('private.git', ['main']);
  intercept(({ headers, url: path }, response) => {
    const location = `http://127.0.0.1:${target.port}${path!.replace('private.git', 'moved.git')}`;
    if (headers.authorization) response.writeHead(302, { location }).end();
    else response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    return true;
  });
  const seen: (string | undefined)[] = [];
  target.intercept(({ headers }) => {
    seen.push(headers.authorization);
    return false;
  });
  const { branches, failed } = await host.listRefs(url);
  assert.equal([branches, failed], [['main'], null]);
  assert.equal(seen, [undefined, undefined, undefined, undefined]);
});

test('branches and tags can also be read from a Git server that does not support protocol version 2', async () => {
  const { host, createRepository, intercept } = await open();
  const url = createRepository('old.git', ['trunk', ...numbered('branch', 1_100)], ['v1']);
  intercept((request) => {
    delete request.headers['git-protocol'];
    return false;
  });
  const { branches, tags, complete } = await host.listRefs(url);
  assert.equal([branches.length, tags, complete], [1_000, ['v1'], false]);
  assert.equal(await host.hasRef(url, 'trunk'), { value: true, failed: null });
  assert.equal(await host.hasRef(url, 'v1'), { value: true, failed: null });
  assert.equal(await host.headBranch(url), { value: 'trunk', failed: null });
});

test('if the tags cannot be listed, the branches are still listed, but the lists of refs do not count as complete', async () => {
  const { host, createRepository, intercept } = await open();
  const url = createRepository('half.git', ['main'], ['v1']);
  intercept(async (request, response) => {
    if (request.method !== 'POST') return false;
    const body = Buffer.concat(await request.toArray());
    if (!body.includes('refs/tags/')) {
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' });
      response.end(`003d${'a'.repeat(40)} refs/heads/main\n0000`);
    } else response.writeHead(500).end();
    return true;
  });
  const { branches, tags, complete, failed } = await host.listRefs(url);
  assert.equal([branches, tags, complete, failed?.failure], [['main'], [], false, 'unreachable']);
});

test('a code host that does not answer in time is reported as unreachable', async () => {
  const { host, createRepository, intercept } = await open({ idleTimeoutMs: 300 });
  const url = createRepository('slow.git', ['main']);
  intercept(() => true);
  assert.is((await host.listRefs(url)).failed?.failure, 'unreachable');
  assert.is((await host.hasRef(url, 'main')).failed?.failure, 'unreachable');
});

test('all requests that are needed for one list of refs share a time limit, even if each of them and each byte of the answers comes in time', async () => {
  const { host, createRepository, intercept } = await open({ timeoutMs: 1_000 });
  const url = createRepository('slow.git', ['main']);
  intercept(async ({ method }, response) => {
    if (method === 'GET') return new Promise((resolve) => setTimeout(resolve, 600, false));
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' });
    const timer = setInterval(() => response.write('0'), 50);
    response.once('close', () => clearInterval(timer));
    return true;
  });
  const startedAt = performance.now();
  const { failed } = await host.listRefs(url);
  assert.is(failed?.failure, 'unreachable');
  assert.ok(performance.now() - startedAt < 4_000 * loadFactor());
});

test('a port on which nothing listens is reported as unreachable, and an address that egress rules forbid is reported as forbidden', async () => {
  const { host, port, close } = await open();
  await close();
  assert.is((await host.headBranch(`http://127.0.0.1:${port}/a.git`)).failed?.failure, 'unreachable');
  assert.is((await host.headBranch('https://10.0.0.1/a.git')).failed?.failure, 'forbidden');
});

test('a URL without a repository is reported as no_repository', async () => {
  const { host, port, intercept } = await open();
  const url = `http://127.0.0.1:${port}/missing.git`;
  assert.is((await host.headBranch(url)).failed?.failure, 'no_repository');
  intercept((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>');
    return true;
  });
  assert.is((await host.headBranch(url)).failed?.failure, 'no_repository');
});

test.run();
