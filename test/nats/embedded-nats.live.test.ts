// limit: 300 s for this file (test/run.ts)

import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, credsAuthenticator, Events, jwtAuthenticator, type NatsConnection } from 'nats';
import { fromSeed } from 'nkeys.js';
import { test } from 'uvu';
import { equal, is, match, ok } from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { connectNats } from '../../infra/nats/connect.ts';
import { createUserCredentials, type UserCredentials, userJwt } from '../../infra/nats/jwt.ts';
import { natsBinary } from '../../infra/nats/server-binary.ts';
import { downloads } from '../../infra/nats/server-package.ts';
import { isUnsafeVersion } from '../../infra/nats/server-version.ts';
import { startTimeOf } from '../../infra/supervision/os-process.ts';
import { eventually, type Program, pidsWith, root, startProgram, startWithFullDisk, withTempDirectory } from '../fixtures/child-process.ts';
import { loadFactor } from '../fixtures/load-factor.ts';

type Server = { program: Program; url: string; pid: number; accountSeed: string };

const startServer = async (dir: string): Promise<Server> => {
  const running = startProgram(process.execPath, [join(root, 'test/fixtures/embedded-process.ts'), 'nats', dir]);
  const [line] = await running.waitForOutput(/^\{.*\}$/m);
  return { program: running, ...(JSON.parse(line) as Omit<Server, 'program'>) };
};

const connectAsService = ({ url, accountSeed }: Server): Promise<NatsConnection> =>
  connectNats({ natsUrl: url, natsAccountSeed: accountSeed });

const connectAs = ({ url }: Server, { jwt, seed }: UserCredentials): Promise<NatsConnection> =>
  connect({ servers: url, authenticator: jwtAuthenticator(jwt, new TextEncoder().encode(seed)), reconnect: false });

/** Returns the error message of a connection attempt, or 'connected' if it succeeds. */
const errorOf = (attempt: Promise<NatsConnection>): Promise<string> =>
  attempt.then(
    (connection) => connection.close().then(() => 'connected'),
    (error: Error) => error.message,
  );

/** Returns the seed of a NATS account that the server does not know. */
const foreignAccountSeed = (): string => {
  const seed = 'SAAATBLGJYRG7DKJCNURJ6ODXD2NZK276KINOV2FHXRKFFQMOQL3OVA4TA';
  ok(fromSeed(new TextEncoder().encode(seed)).getPublicKey().startsWith('A'));
  return seed;
};

const withServer = (use: (server: Server, dir: string) => Promise<void>) => (): Promise<void> =>
  withTempDirectory(async (dir) => {
    const server = await startServer(dir);
    await use(server, dir);
    await server.program.stop();
    equal(pidsWith(dir), []);
  });

const addStream = async (connection: NatsConnection): Promise<void> =>
  void (await (await connection.jetstreamManager()).streams.add({ name: 'S', subjects: ['s.>'] }));

test(
  'the NATS server refuses a client without credentials of the account, and the key files can be read only by their owner',
  withServer(async (server, dir) => {
    match(await errorOf(connect({ servers: server.url })), 'Authorization Violation');
    match(await errorOf(connect({ servers: server.url, user: 'a', pass: 'b' })), 'Authorization Violation');
    const stranger = createUserCredentials({ accountSeed: foreignAccountSeed(), name: 'stranger' });
    match(await errorOf(connectAs(server, stranger)), 'Authorization Violation');
    for (const name of ['keys.json', 'nats.conf', 'annals.creds']) is(statSync(join(dir, 'nats', name)).mode & 0o777, 0o600);
    is(statSync(join(dir, 'nats')).mode & 0o777, 0o700);
  }),
);

test(
  'a NATS user can publish and subscribe only to the subjects that its permissions allow',
  withServer(async (server) => {
    const permissions = { publish: { allow: ['mine.>'] }, subscribe: { allow: ['mine.>', '_INBOX.>'] } };
    const user = await connectAs(server, createUserCredentials({ accountSeed: server.accountSeed, name: 'narrow', permissions }));
    const refused: string[] = [];
    void (async () => {
      for await (const status of user.status()) if (status.type === Events.Error) refused.push(String(status.permissionContext?.subject));
    })();
    const received: string[] = [];
    user.subscribe('mine.*', { callback: (_, message) => received.push(message.subject) });
    const all = await connectAsService(server);
    all.subscribe('>', { callback: (_, message) => received.push(`all ${message.subject}`) });
    await all.flush();
    user.publish('theirs.a');
    user.publish('mine.a');
    await user.flush();
    await all.flush();
    await eventually('both messages arrived', () => received.length >= 2);
    equal(received.filter((subject) => !subject.includes('_INBOX')).sort(), ['all mine.a', 'mine.a']);
    equal(refused, ['theirs.a']);
    await Promise.all([user.close(), all.close()]);
  }),
);

test(
  'the NATS server ends a connection when the credentials of the connection expire',
  withServer(async (server) => {
    const user = await connectAs(
      server,
      createUserCredentials({ accountSeed: server.accountSeed, name: 'brief', expiresAt: new Date(Date.now() + 1_500) }),
    );
    match(String(await user.closed()), 'Authentication Expired');
  }),
);

test(
  'the NATS server refuses a JWT that contains the nkey of another user',
  withServer(async (server) => {
    const [one, other] = ['a', 'b'].map((name) => createUserCredentials({ accountSeed: server.accountSeed, name }));
    match(await errorOf(connectAs(server, { jwt: one!.jwt, seed: other!.seed })), 'Authorization Violation');
  }),
);

test(
  'NATS tools can connect with the credentials file',
  withServer(async (server, dir) => {
    const creds = readFileSync(join(dir, 'nats/annals.creds'));
    const connection = await connect({ servers: server.url, authenticator: credsAuthenticator(creds) });
    await addStream(connection);
    await connection.close();
  }),
);

test(
  'a NATS server that is killed restarts on its port with its messages, and clients reconnect',
  withServer(async (server) => {
    const connection = await connectAsService(server);
    await addStream(connection);
    await connection.jetstream().publish('s.1', 'kept');
    process.kill(server.pid, 'SIGKILL');
    await eventually('the restart', () => /nats ended \(signal SIGKILL\) and is started again/.test(server.program.output()));
    const info = async (): Promise<number> => (await (await connection.jetstreamManager()).streams.info('S')).state.messages;
    await eventually('the message', () =>
      info().then(
        (count) => count === 1,
        () => false,
      ),
    );
    await connection.close();
  }),
);

test('if the supervisor was killed, the next start ends the NATS server that is still running, and starts a new one with the same keys', () =>
  withTempDirectory(async (dir) => {
    const first = await startServer(dir);
    await first.program.stop('SIGKILL');
    ok(startTimeOf(first.pid), 'the server outlives its supervisor');
    const second = await startServer(dir);
    is(startTimeOf(first.pid), undefined);
    is(second.accountSeed, first.accountSeed);
    equal(pidsWith(join(dir, 'nats')), [second.pid]);
    is(await second.program.stop(), 0);
  }));

test('after an upgrade, the first start gives runners a NATS account of their own, keeps all messages, and refuses old credentials', () =>
  withTempDirectory(async (dir) => {
    const keyFile = join(dir, 'nats/keys.json');
    const readKeys = () => JSON.parse(readFileSync(keyFile, 'utf8')) as Record<string, string>;
    const before = await startServer(dir);
    const connection = await connectAsService(before);
    await addStream(connection);
    await connection.jetstream().publish('s.1', 'kept');
    await connection.close();
    is(await before.program.stop(), 0);
    const earlier = omit(readKeys(), 'runners');
    writeFileSync(keyFile, JSON.stringify(earlier));
    const old = createUserCredentials({ accountSeed: before.accountSeed, name: 'runner', expiresAt: new Date(Date.now() + 3_600_000) });
    await sleep(2_100);

    const upgraded = await startServer(dir);
    is(upgraded.accountSeed, before.accountSeed);
    const again = await connectAsService(upgraded);
    is((await (await again.jetstreamManager()).streams.info('S')).state.messages, 1);
    match(await errorOf(connectAs(upgraded, old)), 'Authorization Violation');
    const { runners } = readKeys();
    match(runners!, /^SA/);
    const runner = await connectAs(upgraded, createUserCredentials({ accountSeed: runners!, name: 'runner' }));
    const answer = await runner.request('$JS.API.STREAM.NAMES', '', { timeout: Math.round(1_000 * loadFactor()) });
    match(answer.string(), 'JetStream not enabled for account');
    await Promise.all([again.close(), runner.close()]);
    is(await upgraded.program.stop(), 0);
    is(await (await startServer(dir)).program.stop(), 0);
    is(readKeys().runners, runners);
  }));

test('if a start fails because the disk is full, the next start creates the missing NATS keys', () =>
  withTempDirectory(async (dir) => {
    is(await startWithFullDisk('test/fixtures/embedded-process.ts', 'nats', dir).ended, 1);
    is(await (await startServer(dir)).program.stop(), 0);
  }));

test('an old nats-server on the PATH is not used', () =>
  withTempDirectory(async (dir) => {
    const bin = join(dir, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'nats-server'), '#!/bin/sh\necho nats-server: v2.9.10\n');
    chmodSync(join(bin, 'nats-server'), 0o755);
    process.env.PATH = `${bin}:${process.env.PATH}`;
    is((await natsBinary(dir)).startsWith(bin), false);
  }));

test('isUnsafeVersion returns true for versions of nats-server that can lose streams, and for a text without a version number', () => {
  const unsafe = ['2.9.10', 'nats-server: v2.10.22', '1.99.99', '', 'devel'];
  const safe = ['2.10.23', 'nats-server: v2.10.27', '2.11.0-RC.1', '2.100.0', '3.0.0'];
  equal([...unsafe, ...safe].filter(isUnsafeVersion), unsafe);
});

test('a user JWT contains the requested claims in the format of NATS', () => {
  const accountSeed = foreignAccountSeed();
  const expiresAt = new Date('2030-01-01T00:00:00.900Z');
  const [header, body, signature] = userJwt({ accountSeed, name: 'n', publicKey: 'UX', expiresAt }).split('.');
  const decode = (part: string | undefined) => JSON.parse(Buffer.from(part!, 'base64url').toString());
  equal(decode(header), { typ: 'JWT', alg: 'ed25519-nkey' });
  const { iss, sub, exp, nats } = decode(body);
  const key = fromSeed(new TextEncoder().encode(accountSeed));
  equal(
    { iss, sub, exp, type: nats.type, version: nats.version },
    { iss: key.getPublicKey(), sub: 'UX', exp: 1_893_456_000, type: 'user', version: 2 },
  );
  ok(key.verify(new TextEncoder().encode(`${header}.${body}`), Buffer.from(signature!, 'base64url')));
});

const hasApt = existsSync('/usr/lib/apt/apt-helper');
if (!hasApt) console.log('skipped, because this machine has no apt: the download of nats-server');
const withApt = hasApt ? test : test.skip;

withApt('nats-server is downloaded from the mirror and through the proxy that apt is configured to use', () =>
  withTempDirectory(async (dir) => {
    const requested: string[] = [];
    const mirror = createServer((request, response) => {
      requested.push(request.url!);
      response.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    await once(mirror, 'listening');
    const address = `http://127.0.0.1:${(mirror.address() as AddressInfo).port}`;
    const configureApt = (uri: string, proxy: string): void => {
      writeFileSync(join(dir, 'sources.list'), `deb ${uri} bookworm main\n`);
      const sources = `Dir::Etc::sourcelist "${dir}/sources.list"; Dir::Etc::sourceparts "/dev/null";`;
      writeFileSync(join(dir, 'apt.conf'), `${sources} Acquire::http::Proxy "${proxy}"; Acquire::Retries "0";`);
    };
    process.env.APT_CONFIG = join(dir, 'apt.conf');
    try {
      for (const { uri, proxy, prefix } of [
        { uri: `${address}/mirror`, proxy: 'DIRECT', prefix: '/mirror' },
        { uri: 'http://mirror.invalid/debian', proxy: address, prefix: 'http://mirror.invalid/debian' },
      ]) {
        configureApt(uri, proxy);
        requested.length = 0;
        for (const [index, download] of downloads.entries()) {
          const target = join(dir, `${prefix.length}-${index}`);
          mkdirSync(target);
          await download(target).then(
            () => ok(false, 'the mirror has no package'),
            () => {},
          );
        }
        equal(
          requested.filter((url) => !url.startsWith(prefix)),
          [],
        );
        for (const path of ['/pool/main/n/nats-server/', '/dists/trixie/InRelease', '/dists/bookworm/InRelease'])
          ok(
            requested.some((url) => url.startsWith(prefix + path)),
            `${path} in ${requested}`,
          );
      }
    } finally {
      delete process.env.APT_CONFIG;
      mirror.close();
    }
  }),
);

test.run();
