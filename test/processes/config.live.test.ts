import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is, match, throws } from 'uvu/assert';
import { loadConfig } from '../../infra/config.ts';
import { listenUrl } from '../../infra/listen-url.ts';
import { eventually, startProgram, unconfiguredEnvironment, withTempDirectory } from '../fixtures/child-process.ts';

const refusals: Record<string, string[]> = {
  PORT: ['abc', '0', '65536', '-1', '80.5'],
  HOST: ['a b', 'http://a'],
  PUBLIC_URL: ['ftp://a', 'a.example', 'https://u:p@a.example', 'https://a.example/?b', 'https://a.example/#c'],
  ANNALS_URL: ['a.example', 'https://u:p@a.example'],
  ANNALS_KEY: ['ключ', 'ann_short'],
  ANNALS_ADMIN_KEY: ['ann_short', 'ann_aaaaaaaa_00000000000000000000000000000000000000'],
  EVENTSTORE_URL: ['http://a', 'esdb://'],
  DATABASE_URL: ['mysql://a/b', 'localhost'],
  NATS_URL: ['http://a', 'nats://a,b'],
  BLOBS_URL: [
    's3://key:secret@bucket',
    'https://key:secret@host',
    'https://host/bucket',
    's3://key:secret@Bucket?region=x',
    'file://host/x',
    'file:///',
  ],
  METRICS_PORT: ['abc', '0', '65536'],
  METRICS_HOST: ['a b'],
  LOG_LEVEL: ['loud'],
  TRUSTED_PROXIES: ['10.0.0.0/33', 'a', '::1/129', '10.0.0.0/8/8'],
  CORS_ORIGINS: ['https://a.example/path', 'a'],
  NATS_ACCOUNT_SEED: ['SAAB', 'UAAA'],
  NATS_RUNNER_ACCOUNT_SEED: ['SAAB', 'UAAA'],
  OIDC_ISSUER: ['http://login.example', 'login'],
  SMTP_LISTEN: ['70000', 'a:b'],
  EGRESS_ALLOW: ['a b', 'https://a', '300.1.1.1', '0x7f.1', '10.0.0.0/33', 'a:0', 'a:70000', '127.1:80', '*.a', 'a,,b', 'a/8'],
  GIT_TOKEN_GIT_EXAMPLE_COM: ['a b', 'a\nb', 'tökén'],
};

for (const [name, values] of Object.entries(refusals))
  test(`a malformed ${name} leads to an error that contains the name of the variable, but not its value`, () => {
    for (const value of values)
      throws(
        () => loadConfig({ [name]: value }),
        (error: Error) => error.message.startsWith(`${name} `) && !error.message.includes('\n') && !error.message.includes(`"${value}"`),
        `${name}=${value}`,
      );
  });

test('a variable that is empty or not set has its default value', () => {
  const { port, host, publicUrl, annalsData, masterKeyFile, logLevel, natsUrl } = loadConfig({ PORT: '', NATS_URL: '' });
  equal(
    { port, host, publicUrl, logLevel, natsUrl },
    { port: 4100, host: '127.0.0.1', publicUrl: 'http://127.0.0.1:4100', logLevel: 'info', natsUrl: undefined },
  );
  is(masterKeyFile, `${annalsData}/master.key`);
});

test('the public URL has no slash at its end; if PUBLIC_URL is not set, the public URL is built from host and port', () => {
  is(loadConfig({ HOST: '::1', PORT: '80' }).publicUrl, 'http://[::1]:80');
  is(loadConfig({ PUBLIC_URL: 'https://annals.example/' }).publicUrl, 'https://annals.example');
  is(listenUrl({ host: 'localhost', port: 1 }), 'http://localhost:1');
});

test('EGRESS_ALLOW accepts hosts and addresses, each with or without a port, and ranges without a port', () => {
  const entries = ['git.example', 'git.example:3000', 'localhost', '10.0.0.1', '10.0.0.1:80', '10.0.0.0/8', '::1', '[::1]:80', 'fd00::/8'];
  equal(loadConfig({ EGRESS_ALLOW: entries.join(', ') }).egressAllow, entries);
});

test('OAuth clients are read from a variable per provider, and Git tokens from a variable per host; a client without a secret is refused', () => {
  const { oauth, gitTokens } = loadConfig({
    OAUTH_GITHUB_CLIENT_ID: 'a',
    OAUTH_GITHUB_CLIENT_SECRET: 'b',
    GIT_TOKEN_GITHUB_COM: 'c',
    GIT_TOKEN_MY__HOST_EXAMPLE: 'd',
  });
  equal(oauth, { github: { clientId: 'a', clientSecret: 'b' } });
  equal(gitTokens, { 'github.com': 'c', 'my-host.example': 'd' });
  throws(() => loadConfig({ OAUTH_GITHUB_CLIENT_ID: 'a' }), /^OAUTH_GITHUB_CLIENT_SECRET is missing/);
});

test('the configuration is refused if it has an OIDC issuer without an audience, or an audience without an issuer', () => {
  const issuer = 'https://login.example';
  throws(() => loadConfig({ OIDC_ISSUER: issuer }), /^OIDC_AUDIENCE is missing/);
  throws(() => loadConfig({ OIDC_AUDIENCE: 'annals' }), /^OIDC_ISSUER is missing/);
  throws(() => loadConfig({ OIDC_CLIENT_ID: 'annals' }), /^OIDC_ISSUER is missing/);
  is(loadConfig({ OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'annals' }).oidcIssuer, issuer);
  const trusting = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'annals', OIDC_TRUST_EMAIL: 'true' };
  is(loadConfig(trusting).oidcTrustEmail, true);
  throws(() => loadConfig({ OIDC_TRUST_EMAIL: 'true' }), /^OIDC_ISSUER is missing/);
  for (const tenant of ['common', 'organizations', 'consumers', 'Common'])
    throws(
      () => loadConfig({ ...trusting, OIDC_ISSUER: `https://login.microsoftonline.com/${tenant}/v2.0` }),
      /^OIDC_ISSUER must name one tenant of Entra ID/,
    );
});

test('the loaded configuration is frozen', () => {
  const config = loadConfig({ TRUSTED_PROXIES: '10.0.0.0/8, ::1' });
  equal(config.trustedProxies, ['10.0.0.0/8', '::1']);
  for (const part of [config, config.trustedProxies, config.oauth, config.gitTokens]) is(Object.isFrozen(part), true);
});

const command = (words: string[], env: NodeJS.ProcessEnv = {}) =>
  startProgram(process.execPath, ['infra/main.ts', ...words], { env: { ...unconfiguredEnvironment(), ...env } });

const usages: [string[], RegExp][] = [
  [[], /annals: No command specified/],
  [['bogus'], /annals: Unknown command bogus/],
  [['start', '--now'], /annals: Unknown option --now/],
  [['start', 'now'], /annals: Unexpected argument now/],
  [['store', 'serve', '--port', '1'], /annals: Missing required argument: --dir/],
  [['store', 'serve', '--dir', '/tmp/x', '--port', 'x'], /annals: --port must be a port number/],
  [['--now', 'start'], /annals: Unknown option --now/],
  [['store', '--now', 'verify'], /annals: Unknown option --now/],
  [['rebuild', 'agents', '--if-eqal'], /annals: Unknown option --if-eqal/],
  [['rebuild', 'agents', 'users'], /annals: Unexpected argument users/],
  [['replay', '--form', '2026-11-21T10:00:00Z'], /annals: Unknown option --form/],
  [['store', 'backup', '--to'], /annals: --to needs a value/],
  [['rebuild'], /annals: Name a projection \(agents, /],
  [['rebuild', 'nonsense'], /annals: Name a projection \(agents, /],
  [['rebuild', 'agents', '--all'], /annals: Name a projection or use --all, not both/],
  [['replay', '--from', '14:38'], /annals: --from must be a position such as 4711:4711 or a time/],
  [['replay', '--limit', '0'], /annals: --limit must be a number from 1 on/],
  [['replay', '--follow', '--reverse'], /annals: --follow cannot be combined with --reverse or --to/],
  [['replay', '--tenant', 'x'], /annals: --tenant must be a tenant id/],
  [['runner', '--agent', 'reviewer', '--exec', ' '], /annals: --exec needs a value/],
  [['runner', '--agent', 'reviewer', '--exec', '--concurrency=2'], /annals: --exec needs a value/],
];

test('the command `annals` with wrong arguments prints the error in one line, then where to find help, and exits with 2', async () => {
  for (const [words, message] of usages) {
    const running = command(words);
    is(await running.ended, 2, words.join(' '));
    match(running.output(), message);
    match(running.output(), /^annals: .+\nsee: annals( [a-z]+)* --help\n$/);
  }
});

test('if a variable is malformed, the start prints one line with the reason and exits with code 1', async () => {
  const running = command(['start'], { PORT: 'x', ANNALS_DATA: '/dev/null/none' });
  is(await running.ended, 1);
  is(running.output(), 'annals: PORT must be a port number from 1 to 65535\n');
});

test('a malformed ANNALS_ADMIN_KEY is refused before anything is written', () =>
  withTempDirectory(async (dir) => {
    const data = join(dir, 'data');
    const running = command(['start'], { ANNALS_ADMIN_KEY: 'ann_mistyped', ANNALS_DATA: data });
    is(await running.ended, 1);
    is(running.output(), 'annals: ANNALS_ADMIN_KEY must be an API key (ann_…) with correct check digits\n');
    is(existsSync(data), false);
  }));

test('annals --version and annals -v print the version', async () => {
  for (const word of ['--version', '-v']) {
    const running = command([word]);
    is(await running.ended, 0);
    match(running.output(), /^annals \d+\.\d+\.\d+\n$/);
  }
});

test('if the URL of a service is not set, a command that needs this service names the missing variable', async () => {
  const running = command(['serve'], { EVENTSTORE_URL: '' });
  is(await running.ended, 1);
  is(running.output(), 'annals: EVENTSTORE_URL must be set for this command\n');
});

test('--help exits with code 0', async () => {
  const running = command(['store', 'serve', '--help']);
  is(await running.ended, 0);
  match(running.output(), '--dir=<dir>');
});

test('if the reader of its output has closed the pipe, a command ends without printing anything; if the disk is full, it prints an error', async () => {
  const unread = command(['--help']);
  unread.child.stdout!.destroy();
  is(await unread.ended, 141);
  is(unread.output(), '');
  const full = startProgram('/bin/sh', ['-c', `"${process.execPath}" infra/main.ts --help >/dev/full`]);
  is(await full.ended, 1);
  is(full.output(), 'annals: the output cannot be written: ENOSPC\n');
});

test('a service keeps running after the reader of its output has closed the pipe', () =>
  withTempDirectory(async (dir) => {
    const store = command(['store', 'serve', '--dir', dir, '--port', '0']);
    for (const stream of [store.child.stdout!, store.child.stderr!]) stream.destroy();
    await eventually('it serves', () => existsSync(join(dir, 'serving')));
    is(await store.stop(), 0);
  }));

/** The commands that need an embedded service, and how each names what to use instead. */
const embeddedCommands: [string[], RegExp][] = [
  [['store', 'verify'], /can only verify the embedded event store: verify that of EVENTSTORE_URL.*--dir$/],
  [['store', 'scavenge'], /can only scavenge the embedded event store: scavenge that of EVENTSTORE_URL.*--dir$/],
  [['store', 'backup', '--to', 'copy'], /can only back up the embedded event store: back up that of EVENTSTORE_URL.*--dir$/],
  [['backup', '--to', 'copy'], /can only back up the embedded event store: back up that of EVENTSTORE_URL with its own tools$/],
  [['restore', '--from', 'copy'], /can only restore the embedded event store: restore that of EVENTSTORE_URL with its own tools$/],
  [['import', 'export.jsonl', '--inspect'], /imported into a separate platform: unset EVENTSTORE_URL/],
  [['keys', 'list'], /there is no platform in .*: run annals start, or set DATABASE_URL$/],
];

test('a command that needs an embedded service says so, and says what to do, if that service has a URL', () =>
  withTempDirectory(async (dir) => {
    for (const [words, message] of embeddedCommands) {
      const running = command(words, { ANNALS_DATA: join(dir, 'data'), EVENTSTORE_URL: 'esdb://127.0.0.1:1,127.0.0.1:2?tls=false' });
      is(Number(await running.ended) > 0, true, words.join(' '));
      match(running.output().trim(), message, words.join(' '));
    }
    is(existsSync(join(dir, 'data')), false);
  }));

test('annals work warns at its start, and annals doctor warns, if PUBLIC_URL is not set on a cluster', () =>
  withTempDirectory(async (dir) => {
    const services = {
      EVENTSTORE_URL: 'esdb://127.0.0.1:1,127.0.0.1:2?tls=false',
      DATABASE_URL: 'postgres://127.0.0.1:1/annals',
      NATS_URL: 'nats://127.0.0.1:1',
      BLOBS_URL: 'file:///mnt/shared',
    };
    const [work, doctor] = [command(['work'], { ...services, ANNALS_DATA: dir }), command(['doctor'], { ...services, ANNALS_DATA: dir })];
    await work.waitForOutput(/"level":"warn".*PUBLIC_URL is not set.*set PUBLIC_URL on every annals serve and annals work/);
    await work.stop('SIGKILL');
    is(await doctor.ended, 1);
    match(doctor.output(), /^warn +cluster +PUBLIC_URL is not set.*\n +-> set PUBLIC_URL on every/m);
  }));

test.run();
