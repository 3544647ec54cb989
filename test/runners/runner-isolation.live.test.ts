import { setTimeout as sleep } from 'node:timers/promises';
import { connect, headers, jwtAuthenticator, type Msg, type NatsConnection } from 'nats';
import * as assert from 'uvu/assert';
import { inboundSubject } from '../../domain/runners/cloud-event.ts';
import { consumerName, inboxOf, STREAM } from '../../domain/runners/runner-credential.ts';
import { createChainedPublisher } from '../../infra/nats/chained-publisher.ts';
import { readTip } from '../../infra/nats/jetstream.ts';
import { type BrokerAddress, brokerUserFactory } from '../../infra/nats/runner-users.ts';
import { agentOf, deliveryOf, eventIdOf, TENANT } from '../fixtures/generated-log.ts';
import { withNatsServer } from '../fixtures/nats-server.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const OTHER_TENANT = 'celsewhere000000000000000';
const [AGENT, OTHER_AGENT, FOREIGN_AGENT] = [agentOf(0), agentOf(1), agentOf(2)];

/** Connects to the broker as a runner of this agent, with credentials like those that the platform issues. */
const connectRunner = async (broker: { readonly address: BrokerAddress }, nats: NatsConnection, tenant: string, agent: string) => {
  const credential = `c${agent}`.slice(0, 25);
  const expires_at = new Date(Date.now() + 60_000).toISOString();
  const { url, jwt, seed } = await brokerUserFactory(nats, broker.address)({ tenant, agent, credential, expires_at });
  const authenticator = jwtAuthenticator(jwt, new TextEncoder().encode(seed));
  const connection = await connect({ servers: url, authenticator, inboxPrefix: inboxOf(credential), reconnect: false });
  afterTest(() => connection.close());
  /**
   * Requests the next message of a consumer. @returns its text, '' if there is no message, or null if the request is
   * not allowed
   */
  const next = async (consumer: string): Promise<string | null> => {
    const request = connection.request(`$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${consumer}`, '{"batch":1,"no_wait":true}', {
      noMux: true,
      timeout: 1_000,
    });
    const message = await request.catch(() => null);
    if (!message || message.headers?.code === 404) return message && '';
    message.respond('+ACK');
    return message.string();
  };
  return { connection, next };
};

const publishMessages = async (nats: NatsConnection): Promise<void> => {
  for (const [tenant, agent] of [
    [TENANT, AGENT],
    [TENANT, OTHER_AGENT],
    [OTHER_TENANT, FOREIGN_AGENT],
    [OTHER_TENANT, AGENT],
  ] as const) {
    const head = headers();
    head.set('Nats-Msg-Id', `${tenant} ${agent}`);
    await nats.jetstream().publish(inboundSubject(tenant, agent), `for ${tenant} ${agent}`, { headers: head });
  }
};

test(
  'a runner gets only the messages of its own agent; it can neither request nor receive messages of other agents, and cannot publish messages to agents',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const one = await connectRunner(broker, nats, TENANT, AGENT);
    const other = await connectRunner(broker, nats, TENANT, OTHER_AGENT);
    await publishMessages(nats);
    assert.equal([await one.next(consumerName(AGENT)), await one.next(consumerName(AGENT))], [`for ${TENANT} ${AGENT}`, '']);
    assert.is(await one.next(consumerName(OTHER_AGENT)), null);
    assert.equal(
      [await other.next(consumerName(OTHER_AGENT)), await other.next(consumerName(OTHER_AGENT))],
      [`for ${TENANT} ${OTHER_AGENT}`, ''],
    );
    for (const subject of [
      'agents.>',
      inboundSubject(TENANT, OTHER_AGENT),
      '>',
      '_INBOX.>',
      `${inboxOf(`c${OTHER_AGENT}`.slice(0, 25))}.>`,
    ]) {
      const received: string[] = [];
      const refused = new Promise<string>((resolve) => {
        one.connection.subscribe(subject, {
          callback: (error, message) => (error ? resolve(error.message) : received.push(message.subject)),
        });
      });
      const outcome = await Promise.race([refused, sleep(2_000, 'nothing')]);
      assert.match(outcome, /permissions violation/i, subject);
      assert.equal(received, []);
    }
    const { streams } = await nats.jetstreamManager();
    const before = (await streams.info(STREAM)).state.last_seq;
    one.connection.publish(inboundSubject(TENANT, OTHER_AGENT), 'forged');
    one.connection.publish(`$JS.ACK.${STREAM}.${consumerName(OTHER_AGENT)}.1.1.1.1.1`, '+ACK');
    one.connection.publish(`$JS.API.STREAM.DELETE.${STREAM}`, '');
    await one.connection.flush();
    assert.is((await streams.info(STREAM)).state.last_seq, before);
  }),
);

/** Returns all messages in the NATS stream, each as `<sequence> <subject> <text>`. */
const storedMessages = async (nats: NatsConnection): Promise<string[]> => {
  const { streams } = await nats.jetstreamManager();
  const { last_seq } = (await streams.info(STREAM)).state;
  const messages = Array.from({ length: last_seq }, (_, index) => streams.getMessage(STREAM, { seq: index + 1 }));
  return (await Promise.all(messages)).map(({ seq, subject, data }) => `${seq} ${subject} ${new TextDecoder().decode(data)}`);
};

/** Publishes three messages for AGENT in the same way as the relay. */
const relayMessages = async (nats: NatsConnection): Promise<void> => {
  const publisher = createChainedPublisher(nats, { ...(await readTip(nats)), messageId: null }, () => {});
  for (const index of [0, 1, 2])
    await publisher.add({
      id: eventIdOf(index),
      token: `${index}:${index}`,
      delivery: deliveryOf(index),
      subject: inboundSubject(TENANT, AGENT),
      payload: Buffer.from(`message ${index}`),
    });
  await publisher.idle();
};

const nextRequest = `$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${consumerName(AGENT)}`;

test(
  'if a runner sends a request whose reply subject belongs to another agent, nothing is stored at that subject, and no other runner gets the messages',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const one = await connectRunner(broker, nats, TENANT, AGENT);
    const others = [
      { runner: await connectRunner(broker, nats, TENANT, OTHER_AGENT), agent: OTHER_AGENT },
      { runner: await connectRunner(broker, nats, OTHER_TENANT, FOREIGN_AGENT), agent: FOREIGN_AGENT },
    ];
    await relayMessages(nats);
    const before = await storedMessages(nats);
    assert.is(before.length, 3);
    const targets = [inboundSubject(TENANT, OTHER_AGENT), inboundSubject(OTHER_TENANT, FOREIGN_AGENT), inboundSubject(TENANT, AGENT)];
    const received: string[] = [];
    nats.subscribe('agents.>', { callback: (_, message) => received.push(message.subject) });
    await nats.flush();
    for (const reply of targets) one.connection.publish(nextRequest, '{"batch":1,"no_wait":true}', { reply });
    await one.connection.flush();
    await sleep(500);
    assert.equal(received, []);
    assert.equal(await storedMessages(nats), before);
    for (const { runner, agent } of others) assert.is(await runner.next(consumerName(agent)), '');
  }),
);

test(
  'if a runner sends a request whose reply subject belongs to another agent or is a broker command, no message is lost or published twice',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const one = await connectRunner(broker, nats, TENANT, AGENT);
    await relayMessages(nats);
    const before = await storedMessages(nats);
    const pullAll = '{"batch":10,"expires":100000000}';
    for (const reply of [`$JS.API.STREAM.PURGE.${STREAM}`, inboundSubject(TENANT, OTHER_AGENT)])
      one.connection.publish(nextRequest, pullAll, { reply });
    await one.connection.flush();
    await sleep(500);
    assert.equal(await storedMessages(nats), before);
    assert.equal(await readTip(nats), { sequence: 3, messageId: eventIdOf(2), token: '2:2' });
  }),
);

test(
  "if runners share the NATS account of the platform, and one has the broker's status sent to other subjects, no message is lost or published twice",
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const shared = { address: { ...broker.address, natsRunnerAccountSeed: undefined } };
    const one = await connectRunner(shared, nats, TENANT, AGENT);
    await relayMessages(nats);
    const before = await storedMessages(nats);
    for (const reply of [`$JS.API.STREAM.PURGE.${STREAM}`, inboundSubject(TENANT, OTHER_AGENT)])
      one.connection.publish(nextRequest, '{"batch":10,"expires":100000000}', { reply });
    await one.connection.flush();
    await sleep(500);
    const after = await storedMessages(nats);
    assert.equal(after.slice(0, 3), before);
    // The status message of the broker is stored, because it lacks the header that names the expected last message of
    // the stream. The relay must still be able to publish after it.
    assert.ok(after.length > 3);
    assert.equal(await readTip(nats), { sequence: after.length, messageId: null, token: '2:2' });
  }),
);

/**
 * Returns everything that a runner of AGENT must not be able to change: the streams with their messages, the names of
 * the consumers, and what the consumers of other agents have delivered and acknowledged.
 */
const stateOf = async (nats: NatsConnection): Promise<unknown> => {
  const { streams, consumers } = await nats.jetstreamManager();
  const names = await streams.names().next();
  const infos = await consumers.list(STREAM).next();
  return {
    streams: names.sort(),
    messages: await storedMessages(nats),
    consumers: infos.map(({ name }) => name).sort(),
    others: infos
      .filter(({ name }) => name !== consumerName(AGENT))
      .map(({ name, ack_floor, delivered, num_ack_pending, num_redelivered }) => [
        name,
        ack_floor.stream_seq,
        delivered.consumer_seq,
        num_ack_pending,
        num_redelivered,
      ]),
  };
};

type Runner = Awaited<ReturnType<typeof connectRunner>>;

/** Requests the next message of an agent, and does not acknowledge it. */
const receive = ({ connection }: Runner, agent: string): Promise<Msg> =>
  connection.request(`$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${consumerName(agent)}`, '{"batch":1}', { noMux: true, timeout: 2_000 });

/**
 * Ways in which a runner can make the broker send a message to a subject of the runner's choice, by the kind of the
 * message.
 */
const ANSWERS: Readonly<Record<string, (runner: Runner, reply: string) => Promise<void>>> = {
  'status that there is no message': async ({ connection }, reply) =>
    connection.publish(nextRequest, '{"batch":1,"no_wait":true}', { reply }),
  'status that the request has expired': async ({ connection }, reply) => {
    connection.publish(nextRequest, '{"batch":1,"expires":50000000}', { reply });
    await sleep(100);
  },
  'status that the request is malformed': async ({ connection }, reply) => connection.publish(nextRequest, '{"batch":', { reply }),
  'confirmation of an acknowledgement': async (runner, reply) => {
    const { connection } = runner;
    connection.publish((await receive(runner, AGENT)).reply!, '+ACK', { reply });
  },
  'next message after an acknowledgement': async (runner, reply) => {
    const { connection } = runner;
    connection.publish((await receive(runner, AGENT)).reply!, '+NXT {"batch":1}', { reply });
  },
  message: async ({ connection }, reply) => connection.publish(nextRequest, '{"batch":1}', { reply }),
};

/** The kinds in ANSWERS for which the runner's own consumer must have messages before, each with their number. */
const NEEDED_MESSAGES: Readonly<Record<string, number>> = {
  'confirmation of an acknowledgement': 1,
  'next message after an acknowledgement': 2,
  message: 1,
};

test(
  'if a runner has the broker answer to a subject of JetStream, of an agent or of a runner, no other agent is affected',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const attacker = await connectRunner(broker, nats, TENANT, AGENT);
    const victim = await connectRunner(broker, nats, OTHER_TENANT, FOREIGN_AGENT);
    const subject = inboundSubject(OTHER_TENANT, FOREIGN_AGENT);
    for (const text of ['first', 'second']) await nats.jetstream().publish(subject, text);
    const first = await receive(victim, FOREIGN_AGENT);
    for (const [answer, cause] of Object.entries(ANSWERS))
      for (const reply of [
        `$JS.API.STREAM.DELETE.${STREAM}`,
        `$JS.API.STREAM.DELETE.${STREAM}_NOTICES`,
        `$JS.API.STREAM.PURGE.${STREAM}`,
        `$JS.API.CONSUMER.DELETE.${STREAM}.${consumerName(FOREIGN_AGENT)}`,
        `$JS.API.CONSUMER.DELETE.${STREAM}.${consumerName(AGENT)}`,
        `$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${consumerName(FOREIGN_AGENT)}`,
        first.reply!,
        subject,
      ]) {
        for (let count = NEEDED_MESSAGES[answer] ?? 0; count > 0; count--)
          await nats.jetstream().publish(inboundSubject(TENANT, AGENT), 'own');
        const before = await stateOf(nats);
        await cause(attacker, reply);
        await attacker.connection.flush();
        await sleep(100);
        assert.equal(await stateOf(nats), before, `${answer} to ${reply}`);
      }
    first.respond('+ACK');
    assert.equal([await victim.next(consumerName(FOREIGN_AGENT)), await victim.next(consumerName(FOREIGN_AGENT))], ['second', '']);
  }),
);

test(
  'if a runner has the broker answer to the inbox of another runner, that other runner still gets its own messages',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const attacker = await connectRunner(broker, nats, TENANT, AGENT);
    const victim = await connectRunner(broker, nats, OTHER_TENANT, FOREIGN_AGENT);
    await nats.jetstream().publish(inboundSubject(OTHER_TENANT, FOREIGN_AGENT), 'own');
    for (const reply of ['forged', '*', '>'].map((end) => `${inboxOf(`c${FOREIGN_AGENT}`.slice(0, 25))}.${end}`))
      attacker.connection.publish(nextRequest, '{"batch":1,"no_wait":true}', { reply });
    await attacker.connection.flush();
    const before = await stateOf(nats);
    assert.equal([await victim.next(consumerName(FOREIGN_AGENT)), await victim.next(consumerName(FOREIGN_AGENT))], ['own', '']);
    assert.equal((before as { messages: unknown }).messages, await storedMessages(nats));
  }),
);

test.run();
