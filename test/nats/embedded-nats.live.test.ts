// limit: 300
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, credsAuthenticator, Events, jwtAuthenticator, type NatsConnection } from 'nats';
import { fromSeed } from 'nkeys.js';
import { test } from 'uvu';
import { equal, is, match, ok } from 'uvu/assert';
import { connectNats } from '../../infra/nats/connect.ts';
import { newUser, type UserCredentials, userJwt } from '../../infra/nats/jwt.ts';
import { natsBinary } from '../../infra/nats/server-binary.ts';
import { isOld } from '../../infra/nats/server-version.ts';
import { startTimeOf } from '../../infra/supervision/os-process.ts';
import { eventually, type Program, pidsWith, root, startProgram, startWithFullDisk, withTempDirectory } from '../fixtures/child-process.ts';

type Server = { program: Program; url: string; pid: number; accountSeed: string };

const begin = async (dir: string): Promise<Server> => {
  const running = startProgram(process.execPath, [join(root, 'test/fixtures/embedded-process.ts'), 'nats', dir]);
  const [line] = await running.waitForOutput(/^\{.*\}$/m);
  return { program: running, ...(JSON.parse(line) as Omit<Server, 'program'>) };
};

const service = ({ url, accountSeed }: Server): Promise<NatsConnection> => connectNats({ natsUrl: url, natsAccountSeed: accountSeed });

const as = ({ url }: Server, { jwt, seed }: UserCredentials): Promise<NatsConnection> =>
  connect({ servers: url, authenticator: jwtAuthenticator(jwt, new TextEncoder().encode(seed)), reconnect: false });

const refusal = (trying: Promise<NatsConnection>): Promise<string> =>
  trying.then(
    (connection) => connection.close().then(() => 'let in'),
    (error: Error) => error.message,
  );

/** The seed of an account that the server does not know. */
const seedOfStranger = (): string => {
  const seed = 'SAAATBLGJYRG7DKJCNURJ6ODXD2NZK276KINOV2FHXRKFFQMOQL3OVA4TA';
  ok(fromSeed(new TextEncoder().encode(seed)).getPublicKey().startsWith('A'));
  return seed;
};

const withServer = (use: (server: Server, dir: string) => Promise<void>) => (): Promise<void> =>
  withTempDirectory(async (dir) => {
    const server = await begin(dir);
    await use(server, dir);
    await server.program.stop();
    equal(pidsWith(dir), []);
  });

const addStream = async (connection: NatsConnection): Promise<void> =>
  void (await (await connection.jetstreamManager()).streams.add({ name: 'S', subjects: ['s.>'] }));

test(
  'whoever has no key of the account is refused, and keys are kept for us alone',
  withServer(async (server, dir) => {
    match(await refusal(connect({ servers: server.url })), 'Authorization Violation');
    match(await refusal(connect({ servers: server.url, user: 'a', pass: 'b' })), 'Authorization Violation');
    const stranger = newUser({ accountSeed: seedOfStranger(), name: 'stranger' });
    match(await refusal(as(server, stranger)), 'Authorization Violation');
    for (const name of ['keys.json', 'nats.conf', 'annals.creds']) is(statSync(join(dir, 'nats', name)).mode & 0o777, 0o600);
    is(statSync(join(dir, 'nats')).mode & 0o777, 0o700);
  }),
);

test(
  'a user does what its permissions say and no more',
  withServer(async (server) => {
    const permissions = { publish: { allow: ['mine.>'] }, subscribe: { allow: ['mine.>', '_INBOX.>'] } };
    const user = await as(server, newUser({ accountSeed: server.accountSeed, name: 'narrow', permissions }));
    const refused: string[] = [];
    void (async () => {
      for await (const status of user.status()) if (status.type === Events.Error) refused.push(String(status.permissionContext?.subject));
    })();
    const heard: string[] = [];
    user.subscribe('mine.*', { callback: (_, message) => heard.push(message.subject) });
    const all = await service(server);
    all.subscribe('>', { callback: (_, message) => heard.push(`all ${message.subject}`) });
    await all.flush();
    user.publish('theirs.a');
    user.publish('mine.a');
    await user.flush();
    await all.flush();
    await eventually('both were heard', () => heard.length >= 2);
    equal(heard.filter((subject) => !subject.includes('_INBOX')).sort(), ['all mine.a', 'mine.a']);
    equal(refused, ['theirs.a']);
    await Promise.all([user.close(), all.close()]);
  }),
);

test(
  'credentials end at their instant, in the middle of a connection',
  withServer(async (server) => {
    const user = await as(server, newUser({ accountSeed: server.accountSeed, name: 'brief', expiresAt: new Date(Date.now() + 1_500) }));
    match(String(await user.closed()), 'Authentication Expired');
  }),
);

test(
  'a JWT without its nkey opens nothing',
  withServer(async (server) => {
    const [one, other] = ['a', 'b'].map((name) => newUser({ accountSeed: server.accountSeed, name }));
    match(await refusal(as(server, { jwt: one!.jwt, seed: other!.seed })), 'Authorization Violation');
  }),
);

test(
  'the credentials file lets in the tools of NATS',
  withServer(async (server, dir) => {
    const creds = readFileSync(join(dir, 'nats/annals.creds'));
    const connection = await connect({ servers: server.url, authenticator: credsAuthenticator(creds) });
    await addStream(connection);
    await connection.close();
  }),
);

test(
  'a server that is killed comes back on its port with its messages, and connections find it again',
  withServer(async (server) => {
    const connection = await service(server);
    await addStream(connection);
    await connection.jetstream().publish('s.1', 'kept');
    process.kill(server.pid, 'SIGKILL');
    await eventually('it is started again', () => /nats ended \(signal SIGKILL\) and is started again/.test(server.program.output()));
    const info = async (): Promise<number> => (await (await connection.jetstreamManager()).streams.info('S')).state.messages;
    await eventually('the message is there', () =>
      info().then(
        (count) => count === 1,
        () => false,
      ),
    );
    await connection.close();
  }),
);

test('what a killed supervisor left is replaced: one server per directory, the same keys', () =>
  withTempDirectory(async (dir) => {
    const first = await begin(dir);
    await first.program.stop('SIGKILL');
    ok(startTimeOf(first.pid), 'the server outlives its supervisor');
    const second = await begin(dir);
    is(startTimeOf(first.pid), undefined);
    is(second.accountSeed, first.accountSeed);
    equal(pidsWith(join(dir, 'nats')), [second.pid]);
    is(await second.program.stop(), 0);
  }));

test('a start that found no room for its keys leaves no half of them: the next one makes them', () =>
  withTempDirectory(async (dir) => {
    is(await startWithFullDisk('test/fixtures/embedded-process.ts', 'nats', dir).ended, 1);
    is(await (await begin(dir)).program.stop(), 0);
  }));

test('an old nats-server on the path is passed over', () =>
  withTempDirectory(async (dir) => {
    const bin = join(dir, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'nats-server'), '#!/bin/sh\necho nats-server: v2.9.10\n');
    chmodSync(join(bin, 'nats-server'), 0o755);
    process.env.PATH = `${bin}:${process.env.PATH}`;
    is((await natsBinary(dir)).startsWith(bin), false);
  }));

test('a version is old where streams may be lost, and where it can not be read', () => {
  const old = ['2.9.10', 'nats-server: v2.10.22', '1.99.99', '', 'devel'];
  const recent = ['2.10.23', 'nats-server: v2.10.27', '2.11.0-RC.1', '2.100.0', '3.0.0'];
  equal([...old, ...recent].filter(isOld), old);
});

test('a user JWT says what was asked, in the form that NATS reads', () => {
  const accountSeed = seedOfStranger();
  const expiresAt = new Date('2030-01-01T00:00:00.900Z');
  const [header, body, signature] = userJwt({ accountSeed, name: 'n', publicKey: 'UX', expiresAt }).split('.');
  const read = (part: string | undefined) => JSON.parse(Buffer.from(part!, 'base64url').toString());
  equal(read(header), { typ: 'JWT', alg: 'ed25519-nkey' });
  const { iss, sub, exp, nats } = read(body);
  const key = fromSeed(new TextEncoder().encode(accountSeed));
  equal(
    { iss, sub, exp, type: nats.type, version: nats.version },
    { iss: key.getPublicKey(), sub: 'UX', exp: 1_893_456_000, type: 'user', version: 2 },
  );
  ok(key.verify(new TextEncoder().encode(`${header}.${body}`), Buffer.from(signature!, 'base64url')));
});

test.run();
