import type { ServerResponse } from 'node:http';
import * as assert from 'uvu/assert';
import { createGuardedClient } from '../../infra/egress/guarded-client.ts';
import { createCodeHost } from '../../infra/git/code-host.ts';
import { startGitServer } from '../fixtures/git-server.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const ADVERTISEMENT = 'application/x-git-upload-pack-advertisement';
const RESULT = 'application/x-git-upload-pack-result';
const OID = 'a'.repeat(40);

const line = (text: string): string => (Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text;
const ref = (name: string, oid = OID): string => line(`${oid} ${name}\n`);
const capabilities = `${line('# service=git-upload-pack\n')}0000${line('version 2\n')}${line('ls-refs\n')}0000`;

/** Builds the response body of a git host to a request for its list of refs (branches and tags). */
const listOf = (...lines: string[]) => ({ type: RESULT, body: lines.join('') });

/**
 * Starts a git host that answers every request for its refs with `list`. Before that, it offers git protocol version 2,
 * unless the test passes another first response, `first`.
 */
const open = async (list: { type: string; body: string; status?: number }, first?: { type: string; body: string; status?: number }) => {
  const server = await startGitServer();
  const client = createGuardedClient({ allow: ['127.0.0.1'], idleTimeoutMs: 400 });
  afterTest(async () => {
    await client.close();
    await server.close();
  });
  const send = (response: ServerResponse, { type, body, status = 200 }: { type: string; body: string; status?: number }): true => {
    response.writeHead(status, { 'content-type': type }).end(body);
    return true;
  };
  server.intercept(({ method }, response) =>
    send(response, method === 'POST' ? list : (first ?? { type: ADVERTISEMENT, body: capabilities })),
  );
  return { host: createCodeHost({ client }), url: `http://127.0.0.1:${server.port}/any.git` };
};

type Failing = readonly [condition: string, list: Parameters<typeof open>[0], failure: string, first?: Parameters<typeof open>[1]];

const FAILING: readonly Failing[] = [
  ['ends without a flush packet', listOf(ref('refs/heads/main')), 'bad_response'],
  ['is empty', listOf(''), 'bad_response'],
  ['ends within a line', listOf(ref('refs/heads/main'), '00ffshort'), 'bad_response'],
  ['ends within the length of a line', listOf(ref('refs/heads/main'), '00'), 'bad_response'],
  ['has a length that is not hexadecimal', listOf(ref('refs/heads/main'), 'zzzz0000'), 'bad_response'],
  ['has a line of three bytes', listOf('00030000'), 'bad_response'],
  ['continues after the flush packet', listOf(ref('refs/heads/main'), '0000', 'nonsense'), 'bad_response'],
  ['is HTML', { type: 'text/html', body: '<h1>Hello</h1>' }, 'bad_response'],
  ['is HTML that claims to be a list', { type: RESULT, body: '<h1>Hello</h1>' }, 'bad_response'],
  ['is longer than 4 MiB', listOf(`fff0${'x'.repeat(65_516)}`.repeat(80), '0000'), 'bad_response'],
  ['is an error of the server', { type: 'text/plain', body: 'failed', status: 500 }, 'unreachable'],
  ['is a refusal because of too many requests', { type: 'text/plain', body: 'slow down', status: 429 }, 'unreachable'],
  ['is 204', { type: RESULT, body: '', status: 204 }, 'bad_response'],
  ['follows capabilities that are cut off', listOf('0000'), 'bad_response', { type: ADVERTISEMENT, body: capabilities.slice(0, -8) }],
  ['follows an empty advertisement', listOf('0000'), 'bad_response', { type: ADVERTISEMENT, body: '' }],
  [
    'follows an advertisement of another service',
    listOf('0000'),
    'bad_response',
    { type: ADVERTISEMENT, body: `${line('# service=other\n')}0000` },
  ],
  [
    'follows an advertisement without capabilities',
    listOf('0000'),
    'bad_response',
    { type: ADVERTISEMENT, body: `${line('# service=git-upload-pack\n')}0000${line('x y z\n')}0000` },
  ],
  ['comes from a site without git', listOf('0000'), 'no_repository', { type: 'text/html', body: '<h1>Hello</h1>' }],
  ['comes from a host that forbids it', listOf('0000'), 'no_repository', { type: 'text/plain', body: 'no', status: 403 }],
];

for (const [condition, list, failure, first] of FAILING)
  test(`if the answer of a code host to a request for refs ${condition}, the answer is not used, and no ref is found`, async () => {
    const { host, url } = await open(list, first);
    const { branches, tags, complete, failed } = await host.listRefs(url);
    assert.equal([branches, tags, complete, failed?.failure], [[], [], false, failure]);
    assert.is((await host.hasRef(url, 'main')).value, null);
    assert.is((await host.headBranch(url)).value, null);
  });

test('refs that were not requested, and refs whose names git does not accept, are left out of the lists', async () => {
  const names = ['refs/heads/main', 'refs/heads/main', 'refs/tags/v1', 'refs/pull/1/head', 'HEAD', 'refs/heads/a..b', 'refs/heads/-x'];
  const more = ['refs/heads/a\u0007b', 'refs/heads/', 'refs/heads', `refs/heads/${'x'.repeat(2_000)}`, 'main'];
  const { host, url } = await open(listOf(...[...names, ...more].map((name) => ref(name)), line(OID), line('\n'), '0004', '0000'));
  const { branches, tags } = await host.listRefs(url);
  assert.equal([branches, tags], [['main'], ['v1']]);
});

test('if a code host answers a request for one ref with all refs, the ref exists only if its exact name is among them', async () => {
  const { host, url } = await open(listOf(ref('refs/heads/main'), ref('refs/heads/mainly'), '0000'));
  assert.equal(await host.hasRef(url, 'mai'), { value: false, failed: null });
  assert.equal(await host.hasRef(url, 'main'), { value: true, failed: null });
});

test('if HEAD points to nothing, to a tag or to an empty name, the repository has no HEAD branch', async () => {
  for (const head of [`${OID} HEAD\n`, `${OID} HEAD symref-target:refs/tags/v1\n`, `${OID} HEAD symref-target:\n`]) {
    const { host, url } = await open(listOf(line(head), '0000'));
    assert.equal(await host.headBranch(url), { value: null, failed: null });
  }
});

test.run();
