import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createGitPlatform, type Problem } from '../fixtures/git-platform.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

type Json = Record<string, unknown>;

const TOKEN = 'ghp_tokenThatNobodySees';
const p = await createGitPlatform(TOKEN);
const { server, acme, other, createAgent, intercept, countEvents, expireCache } = p;

test('linking a repository without a ref selects its HEAD branch, and unlinking the repository sets the branch back to main', async () => {
  const agent = await createAgent(null);
  const { status, body } = await agent.link({ url: acme });
  assert.equal([status, (body as Json).repo_url, (body as Json).code_ref], [200, acme, 'trunk']);
  assert.equal(await agent.read(), [acme, 'trunk']);
  assert.equal(p.log.events.at(-1)?.data, { repo_url: acme, code_ref: 'trunk' });
  assert.is((await agent.link({ url: null })).status, 200);
  assert.equal(await agent.read(), [null, 'main']);
  const events = countEvents();
  assert.is((await agent.link({ url: null })).status, 200);
  assert.is(countEvents(), events);
});

test('linking a repository with a ref selects this branch or tag; a request with a ref that the repository does not have gets 422', async () => {
  const agent = await createAgent(null);
  assert.is((await agent.link({ url: acme, code_ref: 'v1.1.0' })).status, 200);
  assert.equal(await agent.read(), [acme, 'v1.1.0']);
  const { status, body } = await agent.link({ url: other, code_ref: 'v1.1.0' });
  assert.equal(
    [status, (body as Problem).errors?.[0]],
    [422, { pointer: '/code_ref', code: 'unknown_ref', message: (body as Problem).detail }],
  );
  assert.is((await agent.link({ url: null, code_ref: 'main' })).status, 422);
  assert.equal(await agent.read(), [acme, 'v1.1.0']);
});

test('after a change of the repository, the agent keeps its ref if it exists there, and else gets the branch of HEAD', async () => {
  const agent = await createAgent();
  await agent.pin('release-2');
  await agent.link({ url: other });
  assert.equal(await agent.read(), [other, 'release-2']);
  await agent.link({ url: acme, code_ref: 'feature/login' });
  await agent.link({ url: other });
  assert.equal(await agent.read(), [other, 'main']);
  await agent.link({ url: other, code_ref: 'release-2' });
  await agent.link({ url: other, code_ref: null });
  assert.equal(await agent.read(), [other, 'main']);
});

test('a private repository is read with the token that is stored for its host; no event and no response contains the token', async () => {
  const url = server.createRepository('private.git', ['secret-branch']);
  const expected = `Basic ${Buffer.from(`x-access-token:${TOKEN}`).toString('base64')}`;
  let accepts = true;
  intercept(({ headers }, response) => {
    if (accepts && headers.authorization === expected) return false;
    response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end(`${headers.authorization}`);
    return true;
  });
  const agent = await createAgent(null);
  const linked = await agent.link({ url });
  assert.equal([linked.status, (linked.body as Json).code_ref], [200, 'secret-branch']);
  accepts = false;
  expireCache();
  const refused = [await agent.pin('other'), await agent.link({ url: `${url}/sub` })];
  assert.equal(
    refused.map(({ status }) => status),
    [422, 422],
  );
  const texts = [linked.text, ...refused.map(({ text }) => text), ...p.log.events.map(({ data }) => JSON.stringify(data))];
  for (const secret of [TOKEN, Buffer.from(`x-access-token:${TOKEN}`).toString('base64')])
    assert.not.ok(texts.some((text) => text.includes(secret)));
});

test('linking a repository is refused if its URL is not https, contains credentials or leads to a private address; no event contains the refused URL', async () => {
  const agent = await createAgent(null);
  const events = p.log.events.length;
  const urls = [
    'https://token@github.com/a/b',
    'https://u:p@github.com/a/b',
    'https://github.com/a/b?token=c',
    'https://github.com/a#b',
    'ssh://git@github.com/a/b',
    'git@github.com:a/b.git',
    'file:///etc/passwd',
    'http://github.com/a/b',
    'https://127.0.0.1/a',
    'https://169.254.169.254/a',
    'https://[::1]/a',
    'https://github.com:22/a',
    '',
    7,
    `https://github.com/${'a'.repeat(2_048)}`,
  ];
  for (const url of urls) {
    const { status, body } = await agent.link({ url });
    assert.equal([url, status, (body as Problem).errors?.[0]?.pointer], [url, 422, '/url']);
  }
  assert.is((await agent.link({})).status, 422);
  assert.is((await agent.link({ url: acme, token: 'a' })).status, 422);
  assert.is(p.log.events.length, events);
});

test('linking a URL at which there is no repository gets 422 with the code no_repository', async () => {
  const agent = await createAgent(null);
  const { status, body } = await agent.link({ url: `http://127.0.0.1:${server.port}/missing.git` });
  const { pointer, code } = (body as Problem).errors![0]!;
  assert.equal([status, pointer, code], [422, '/url', 'no_repository']);
});

test('linking a repository without a HEAD branch gets 422 with the code no_head_branch, unless the request names a ref', async () => {
  const agent = await createAgent(null);
  const { status, body } = await agent.link({ url: server.createRepository('empty.git', []) });
  assert.equal([status, (body as Problem).errors?.[0]?.code], [422, 'no_head_branch']);
});

test('changing the repository with an outdated ETag in If-Match gets 412; sending a change twice with the same Idempotency-Key appends one event', async () => {
  const agent = await createAgent();
  assert.is((await agent.link({ url: other }, { 'if-match': '"0"' })).status, 412);
  const events = countEvents();
  const send = () => agent.link({ url: other }, { 'idempotency-key': 'link-1' });
  assert.equal([(await send()).text, countEvents()], [(await send()).text, events + 1]);
});

test('the history of an agent shows its repository and ref; restoring an earlier revision of the agent restores both', async () => {
  const agent = await createAgent();
  const before = (await p.send('GET', agent.path)).headers.get('etag')!;
  await agent.pin('v1.0.0');
  await agent.link({ url: other });
  const { body } = await p.send('GET', `${agent.path}/history`);
  const changes = (body as { type: string; changes: { pointer: string; to: unknown }[] }[]).map(({ type, changes }) => [
    type,
    changes.map(({ pointer, to }) => [pointer, to]),
  ]);
  assert.equal(changes.slice(0, 2), [
    [
      'AgentRepoLinked',
      [
        ['/repo_url', other],
        ['/code_ref', 'main'],
      ],
    ],
    ['AgentCodeRefPinned', [['/code_ref', 'v1.0.0']]],
  ]);
  assert.is((await p.send('POST', `${agent.path}/restore`, { body: { revision: Number(before.replaceAll('"', '')) } })).status, 200);
  assert.equal(await agent.read(), [acme, 'trunk']);
});

afterLastTest(() => p.close());

test.run();
