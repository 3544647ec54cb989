import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, throws } from 'uvu/assert';
import { keyFromDigest } from '../../domain/identity/api-key-format.ts';
import { loadClientConfig } from '../../infra/cli/client-config.ts';
import { loadConfig } from '../../infra/config.ts';
import { loadMasterKey } from '../../infra/vault/master-key.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const KEY = keyFromDigest('0123456789abcdef'.repeat(4));

/** How a value gets into the environment with more than it has: files of variables, pipes and copying. */
const copied = (value: string): Readonly<Record<string, string>> => ({
  'docker --env-file with quotation marks': `"${value}"`,
  'an env file of a shell': `'${value}'`,
  'an env file from Windows': `${value}\r`,
  'a secret mounted as a file': `${value}\n`,
  'a web page': `\u00a0${value}\u00a0`,
  'a chat program': `\u200b${value}`,
  'an editor with byte order marks': `\ufeff${value}`,
  'blanks before and after': `  ${value}  `,
});

const SETTINGS: readonly (readonly [
  name: string,
  value: string,
  read: (config: ReturnType<typeof loadConfig>) => unknown,
  expected?: unknown,
])[] = [
  ['ANNALS_KEY', KEY, ({ annalsKey }) => annalsKey],
  ['ANNALS_ADMIN_KEY', KEY, ({ annalsAdminKey }) => annalsAdminKey],
  ['METRICS_TOKEN', 'a-token', ({ metricsToken }) => metricsToken],
  ['STRIPE_SECRET_KEY', 'sk_test_1', ({ stripeSecretKey }) => stripeSecretKey],
  ['STRIPE_WEBHOOK_SECRET', 'whsec_1,whsec_2', ({ stripeWebhookSecret }) => stripeWebhookSecret, ['whsec_1', 'whsec_2']],
  ['GIT_TOKEN_GIT_EXAMPLE_COM', 'user:token', ({ gitTokens }) => gitTokens['git.example.com']],
];

for (const [name, value, read, expected = value] of SETTINGS)
  test(`${name} is read without the characters that copying adds`, () => {
    for (const [source, text] of Object.entries(copied(value))) equal(read(loadConfig({ [name]: text })), expected, source);
  });

test('the secrets of OAuth and OpenID Connect clients are read without the characters that copying adds', () => {
  for (const [source, text] of Object.entries(copied('a secret'))) {
    const env = { OAUTH_GITLAB_CLIENT_ID: text, OAUTH_GITLAB_CLIENT_SECRET: text };
    equal(loadConfig(env).oauth.gitlab, { clientId: 'a secret', clientSecret: 'a secret' }, source);
    const oidc = { OIDC_ISSUER: 'https://id.example.com', OIDC_CLIENT_ID: text, OIDC_CLIENT_SECRET: text };
    equal(loadConfig(oidc).oidcClientSecret, 'a secret', source);
  }
});

test('an invisible character within a secret stops the start, with the names of the variable and the character', () => {
  throws(() => loadConfig({ METRICS_TOKEN: 'a\u200bb' }), /^METRICS_TOKEN contains a zero-width space \(U\+200B\): copy the value again$/);
  throws(() => loadConfig({ OIDC_CLIENT_SECRET: 'a\nb' }), /^OIDC_CLIENT_SECRET contains a line end \(U\+000A\)/);
});

/** Secrets of other programs, as in the environment of a CI job. Line ends and invisible characters are right in them. */
const OF_OTHER_PROGRAMS: Readonly<Record<string, string>> = {
  SSH_PRIVATE_KEY: '-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn\n-----END OPENSSH PRIVATE KEY-----\n',
  KUBE_TOKEN: 'a\u200bb',
  DEPLOY_SECRET: 'a\nb',
  NKEYS_SEED: 'a\u0000b',
  AZURE_CLIENT_ID: 'a\u00a0b\u200bc',
  MY_OAUTH_X_CLIENT_SECRET: 'a\nb',
  MY_GIT_TOKEN_X: 'a\nb',
};

for (const [name, value] of Object.entries(OF_OTHER_PROGRAMS))
  test(`${name}, which belongs to another program, stops neither the platform nor a client`, () => {
    equal(loadConfig({ ANNALS_KEY: KEY, [name]: value }).annalsKey, KEY);
    const client = { ANNALS_URL: 'https://annals.example.com', ANNALS_KEY: KEY };
    equal(loadClientConfig({ ...client, [name]: value }, true), loadClientConfig(client, true));
  });

test('a malformed variable of the platform does not stop a client, but one of the client does', () => {
  const client = { ANNALS_URL: 'https://annals.example.com', ANNALS_KEY: KEY };
  equal(loadClientConfig({ ...client, METRICS_TOKEN: 'a\nb', GIT_TOKEN_X: 'a\nb' }, true).annalsKey, KEY);
  throws(() => loadClientConfig({ ...client, ANNALS_KEY: 'ann_\u200b1' }, true), /^ANNALS_KEY contains a zero-width space/);
});

test('a variable that has only blanks or quotation marks counts as not set', () => {
  for (const text of [' ', '""', '\n']) equal(loadConfig({ METRICS_TOKEN: text }).metricsToken, undefined, JSON.stringify(text));
});

test('the refusal of a master key with a line end says what to remove', async () => {
  const file = join(createTempDirectory().dir, 'master.key');
  await writeFile(file, `${'k'.repeat(32)}\n`);
  await loadMasterKey(file, false).then(
    () => Promise.reject(new Error('was accepted')),
    ({ message }: Error) => equal(/must be 32 bytes, not 33: remove the line end/.test(message), true, message),
  );
});

test.run();
