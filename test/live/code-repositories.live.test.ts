import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Platform, withPlatform } from '../faults/platform.ts';
import { findText } from '../faults/secret-search.ts';
import { createDataset } from '../faults/tenants.ts';
import { startGitServer } from '../fixtures/git-server.ts';

const TOKEN = 'gitTokenThatNobodyMaySee4711';
const CREDENTIALS = Buffer.from(`x-access-token:${TOKEN}`).toString('base64');

/** Creates an agent. @returns a function that links a repository to this agent */
const linkerOn = async (platform: Platform) => {
  const { agents } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 0 });
  const { tenant, id } = agents[0]!;
  return (url: string) => platform.call('PUT', `/tenant/${tenant.id}/agents/${id}/repo`, { url }, { key: tenant.key });
};

test('annals start reads a private repository with EGRESS_ALLOW and GIT_TOKEN_<HOST>, and stores and prints the token nowhere', async () => {
  const server = await startGitServer();
  const url = server.createRepository('private.git', ['trunk']);
  let withToken = 0;
  server.intercept(({ headers }, response) => {
    if (headers.authorization === `Basic ${CREDENTIALS}`) {
      withToken++;
      return false;
    }
    response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    return true;
  });
  const variables = { EGRESS_ALLOW: `127.0.0.1:${server.port}`, GIT_TOKEN_127_0_0_1: TOKEN, LOG_LEVEL: 'debug' };
  try {
    await withPlatform(async (platform) => {
      const link = await linkerOn(platform);
      const { status, text } = await link(url);
      assert.equal([status, (JSON.parse(text) as { code_ref: string }).code_ref], [200, 'trunk']);
      assert.ok(withToken > 0);
      const missing = await link(url.replace('private', 'missing'));
      assert.is(missing.status, 422);
      await platform.stop();
      const dirs = [platform.data];
      assert.match(findText('private.git', dirs).join('\n'), /\/store\/.*plain/, 'the search finds what is in the log');
      for (const secret of [TOKEN, CREDENTIALS]) {
        assert.equal(findText(secret, dirs), []);
        assert.not.ok([platform.output(), text, missing.text].some((one) => one.includes(secret)));
      }
    }, variables);
  } finally {
    await server.close();
  }
});

test('without EGRESS_ALLOW, annals start sends no request to a private address', async () => {
  let connections = 0;
  const canary = createServer((_, response) => response.end()).on('connection', () => connections++);
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
  const { port } = canary.address() as AddressInfo;
  try {
    await withPlatform(async (platform) => {
      const link = await linkerOn(platform);
      const urls = [`http://127.0.0.1:${port}/a`, `https://127.0.0.1:${port}/a`, 'https://localhost/a', 'https://169.254.169.254/a'];
      for (const url of urls) assert.equal([url, (await link(url)).status], [url, 422]);
    });
    assert.is(connections, 0);
  } finally {
    canary.close();
  }
});

test.run();
