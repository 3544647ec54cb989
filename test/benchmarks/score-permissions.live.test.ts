import { connect, jwtAuthenticator, type NatsConnection } from 'nats';
import * as assert from 'uvu/assert';
import { inboxOf } from '../../domain/runners/runner-credential.ts';
import { MAX_PUBLISHED_BYTES, scoreSubject } from '../../domain/runners/score-report.ts';
import { brokerUserFactory } from '../../infra/nats/runner-users.ts';
import { MAX_AGENT_REPORTS, openScoreReports } from '../../infra/nats/score-reports.ts';
import { agentOf, TENANT } from '../fixtures/generated-log.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { waitUntil, withNatsServer } from '../fixtures/nats-server.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const OTHER_TENANT = 'celsewhere000000000000000';
const [AGENT, OTHER_AGENT] = [agentOf(0), agentOf(1)];

test(
  "the NATS server lets a runner publish benchmark results only for the runner's own agent",
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const credential = `c${AGENT}`.slice(0, 25);
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const { url, jwt, seed } = await brokerUserFactory(nats, broker.address)({ tenant: TENANT, agent: AGENT, credential, expires_at });
    const authenticator = jwtAuthenticator(jwt, new TextEncoder().encode(seed));
    const runner = await connect({ servers: url, authenticator, inboxPrefix: inboxOf(credential), reconnect: false });
    afterTest(() => runner.close());
    const received: string[] = [];
    nats.subscribe('scores.>', { callback: (_, message) => received.push(message.subject) });
    await nats.flush();
    for (const subject of [scoreSubject(TENANT, OTHER_AGENT), scoreSubject(OTHER_TENANT, AGENT), scoreSubject(TENANT, AGENT)])
      runner.publish(subject, 'a result');
    await runner.flush();
    await waitUntil(() => received.length > 0);
    assert.equal(received, [scoreSubject(TENANT, AGENT)]);
  }),
);

test(
  'an agent can publish a limited number and size of results; results of other agents are still stored',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const reports = await openScoreReports(nats);
    const connectRunner = async (agent: string) => {
      const credential = `c${agent}`.slice(0, 25);
      const expires_at = new Date(Date.now() + 60_000).toISOString();
      const { url, jwt, seed } = await brokerUserFactory(nats, broker.address)({ tenant: TENANT, agent, credential, expires_at });
      const authenticator = jwtAuthenticator(jwt, new TextEncoder().encode(seed));
      const runner = await connect({ servers: url, authenticator, inboxPrefix: inboxOf(credential), reconnect: false });
      afterTest(() => runner.close());
      return runner;
    };
    const isStored = async (runner: NatsConnection, agent: string): Promise<boolean> =>
      (await runner.request(scoreSubject(TENANT, agent), 'x', { timeout: Math.round(5_000 * loadFactor()) })).json<{ error?: object }>()
        .error === undefined;
    const [greedy, calm] = [await connectRunner(AGENT), await connectRunner(OTHER_AGENT)];
    for (let count = 0; count < MAX_AGENT_REPORTS; count++) greedy.publish(scoreSubject(TENANT, AGENT), 'x');
    await greedy.flush();
    assert.equal([await isStored(greedy, AGENT), await isStored(calm, OTHER_AGENT)], [false, true]);
    await Promise.all((await reports.next()).map((message) => message.ackAck()));
    assert.is(await isStored(greedy, AGENT), true, 'what is recorded makes room');
    assert.is(greedy.info?.max_payload, MAX_PUBLISHED_BYTES, 'the limit of the user, which the server tells and enforces');
  }),
);

test.run();
