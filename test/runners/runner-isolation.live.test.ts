import { setTimeout as sleep } from 'node:timers/promises';
import { connect, headers, jwtAuthenticator, type NatsConnection } from 'nats';
import * as assert from 'uvu/assert';
import { inboundSubject } from '../../domain/runners/cloud-event.ts';
import { consumerName, inboxOf, STREAM } from '../../domain/runners/runner-credential.ts';
import { brokerUsers } from '../../infra/nats/runner-users.ts';
import { agentOf, TENANT } from '../fixtures/generated-log.ts';
import { type NatsServer, withNatsServer } from '../fixtures/nats-server.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const ELSEWHERE = 'celsewhere000000000000000';
const [ONE, OTHER, STRANGE] = [agentOf(0), agentOf(1), agentOf(2)];

/** A runner of an agent, let into the broker as the service lets one in. */
const runnerOf = async (broker: NatsServer, nats: NatsConnection, tenant: string, agent: string) => {
  const credential = `c${agent}`.slice(0, 25);
  const expires_at = new Date(Date.now() + 60_000).toISOString();
  const { url, jwt, seed } = await brokerUsers(nats, broker.address)({ tenant, agent, credential, expires_at });
  const authenticator = jwtAuthenticator(jwt, new TextEncoder().encode(seed));
  const connection = await connect({ servers: url, authenticator, inboxPrefix: inboxOf(credential), reconnect: false });
  afterTest(() => connection.close());
  /** What a consumer hands out at once, without waiting for more; null where it may not be asked. */
  const next = async (consumer: string): Promise<string | null> => {
    const asked = connection.request(`$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${consumer}`, '{"batch":1,"no_wait":true}', {
      noMux: true,
      timeout: 1_000,
    });
    const message = await asked.catch(() => null);
    if (!message || message.headers?.code === 404) return message && '';
    message.respond('+ACK');
    return message.string();
  };
  return { connection, next };
};

const published = async (nats: NatsConnection): Promise<void> => {
  for (const [tenant, agent] of [
    [TENANT, ONE],
    [TENANT, OTHER],
    [ELSEWHERE, STRANGE],
    [ELSEWHERE, ONE],
  ] as const) {
    const head = headers();
    head.set('Nats-Msg-Id', `${tenant} ${agent}`);
    await nats.jetstream().publish(inboundSubject(tenant, agent), `for ${tenant} ${agent}`, { headers: head });
  }
};

test(
  "a runner gets the messages of its agent in its tenant, and can neither ask for another's nor listen to them nor send any",
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const one = await runnerOf(broker, nats, TENANT, ONE);
    const other = await runnerOf(broker, nats, TENANT, OTHER);
    await published(nats);
    assert.equal([await one.next(consumerName(ONE)), await one.next(consumerName(ONE))], [`for ${TENANT} ${ONE}`, '']);
    assert.is(await one.next(consumerName(OTHER)), null);
    assert.equal([await other.next(consumerName(OTHER)), await other.next(consumerName(OTHER))], [`for ${TENANT} ${OTHER}`, '']);
    for (const subject of ['agents.>', inboundSubject(TENANT, OTHER), '>', '_INBOX.>', `${inboxOf(`c${OTHER}`.slice(0, 25))}.>`]) {
      const heard: string[] = [];
      const refused = new Promise<string>((resolve) => {
        one.connection.subscribe(subject, { callback: (error, message) => (error ? resolve(error.message) : heard.push(message.subject)) });
      });
      const said = await Promise.race([refused, sleep(2_000, 'nothing')]);
      assert.match(said, /permissions violation/i, subject);
      assert.equal(heard, []);
    }
    const { streams } = await nats.jetstreamManager();
    const before = (await streams.info(STREAM)).state.last_seq;
    one.connection.publish(inboundSubject(TENANT, OTHER), 'forged');
    one.connection.publish(`$JS.ACK.${STREAM}.${consumerName(OTHER)}.1.1.1.1.1`, '+ACK');
    one.connection.publish(`$JS.API.STREAM.DELETE.${STREAM}`, '');
    await one.connection.flush();
    assert.is((await streams.info(STREAM)).state.last_seq, before);
  }),
);

test.run();
