import * as assert from 'uvu/assert';
import type { Platform } from '../../faults/platform.ts';
import { findText } from '../../faults/secret-search.ts';
import { createDataset } from '../../faults/tenants.ts';
import { startGitServer } from '../../fixtures/git-server.ts';
import type { SecretCase } from './secret-case.ts';

const TOKEN = 'gitTokenThatNobodyMaySee4711';
const CREDENTIALS = Buffer.from(`x-access-token:${TOKEN}`).toString('base64');

/** Starts a server with a repository that can be read only with a token. `variables` are the settings for it. */
export const startPrivateServer = async () => {
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
  const variables = { EGRESS_ALLOW: `127.0.0.1:${server.port}`, GIT_TOKEN_127_0_0_1: TOKEN };
  return { url, variables, withToken: () => withToken, close: server.close };
};

type PrivateServer = Awaited<ReturnType<typeof startPrivateServer>>;

/** Creates an agent. @returns a function that links a repository to this agent */
const linkerOn = async (platform: Platform) => {
  const { agents } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 0 });
  const { tenant, id } = agents[0]!;
  return (url: string) => platform.call('PUT', `/tenant/${tenant.id}/agents/${id}/repo`, { url }, { key: tenant.key });
};

/** Links a private repository and one that does not exist to an agent. */
export const privateRepository = ({ url, withToken }: PrivateServer): SecretCase => ({
  name: 'annals start reads a private repository with EGRESS_ALLOW and GIT_TOKEN_<HOST>, and stores and prints the token nowhere',
  act: async (platform) => {
    const link = await linkerOn(platform);
    const { status, text } = await link(url);
    assert.equal([status, (JSON.parse(text) as { code_ref: string }).code_ref], [200, 'trunk']);
    assert.ok(withToken() > 0);
    const missing = await link(url.replace('private', 'missing'));
    assert.is(missing.status, 422);
    return ({ own, printed }) => {
      assert.match(findText('private.git', own).join('\n'), /\/store\/.*plain/, 'the search finds what is in the log');
      for (const secret of [TOKEN, CREDENTIALS]) {
        assert.equal(findText(secret, own), []);
        assert.not.ok([printed, text, missing.text].some((one) => one.includes(secret)));
      }
    };
  },
});
