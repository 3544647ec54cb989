import { connect, type JetStreamManager, jwtAuthenticator, type Msg, type NatsConnection } from 'nats';
import * as assert from 'uvu/assert';
import { brokerUserFactory } from '../../infra/nats/runner-users.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { type NatsServer, waitUntil, withNatsServer } from '../fixtures/nats-server.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

// These tests act like a runner that is written in another language: they use only the NATS client and what the API
// documents.

type Credential = Record<'url' | 'jwt' | 'seed' | 'subject' | 'stream' | 'consumer' | 'inbox_prefix' | 'expires_at' | 'renew_at', string>;

/**
 * Starts a platform with a real broker and an agent. The returned `issue` requests a credential with the key of the
 * agent's runner.
 */
const startPlatform = async (broker: NatsServer, nats: NatsConnection) => {
  const p = await createTestPlatform({ createBrokerUser: brokerUserFactory(nats, broker.address) });
  const { id } = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Triage', slug: 'triage' } })).body as { id: string };
  const { key } = (await p.send('POST', `${p.tenant}/agents/${id}/runner-keys`, { body: { name: 'R' } })).body as { key: string };
  const issue = async (): Promise<Credential> =>
    (await p.send('POST', `${p.tenant}/agents/${id}/runner-credentials`, { key })).body as Credential;
  return { issue };
};

const connectWith = async ({ url, jwt, seed, inbox_prefix }: Credential): Promise<NatsConnection> => {
  const authenticator = jwtAuthenticator(jwt, new TextEncoder().encode(seed));
  const connection = await connect({ servers: url.split(','), authenticator, inboxPrefix: inbox_prefix });
  afterTest(() => connection.close());
  return connection;
};

const pull = (connection: NatsConnection, { stream, consumer }: Credential): Promise<Msg> =>
  connection.request(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, '{"batch":1,"expires":3000000000}', {
    noMux: true,
    timeout: Math.round(4_000 * loadFactor()),
  });

/**
 * Returns the number of the attempt. It is a part of the message's reply subject,
 * `$JS.ACK.<stream>.<consumer>.<attempt>.…`.
 */
const attemptOf = ({ reply }: Msg): number => Number(reply!.split('.')[4]);

const unacknowledged = async (manager: JetStreamManager, { stream, consumer }: Credential): Promise<number> =>
  (await manager.consumers.info(stream, consumer)).num_ack_pending;

test(
  'a plain NATS client can pull a message, report progress, have the message delivered again after a delay, and acknowledge it',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const { issue } = await startPlatform(broker, nats);
    const credential = await issue();
    await nats.jetstream().publish(credential.subject, 'one');
    const connection = await connectWith(credential);
    const first = await pull(connection, credential);
    assert.equal([first.string(), attemptOf(first)], ['one', 1]);
    first.respond('+WPI');
    const startedAt = Date.now();
    first.respond('-NAK {"delay": 400000000}');
    const second = await pull(connection, credential);
    assert.equal([second.string(), attemptOf(second)], ['one', 2]);
    assert.ok(Date.now() - startedAt >= 350);
    await connection.request(second.reply!, '+ACK', { timeout: Math.round(2_000 * loadFactor()) });
    assert.is(await unacknowledged(await nats.jetstreamManager(), credential), 0);
  }),
);

test(
  'a message that was pulled over a connection with one credential can be acknowledged over a connection with the credential that replaced it',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const { issue } = await startPlatform(broker, nats);
    const credential = await issue();
    assert.ok(Date.parse(credential.renew_at) < Date.parse(credential.expires_at));
    await nats.jetstream().publish(credential.subject, 'one');
    const old = await connectWith(credential);
    const { reply } = await pull(old, credential);
    const renewed = await connectWith(await issue());
    await old.close();
    await renewed.request(reply!, '+ACK', { timeout: Math.round(2_000 * loadFactor()) });
    const manager = await nats.jetstreamManager();
    await waitUntil(async () => (await unacknowledged(manager, credential)) === 0);
  }),
);

test.run();
