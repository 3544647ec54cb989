import { randomUUID } from 'node:crypto';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, jwtAuthenticator, type NatsConnection } from 'nats';
import { pino } from 'pino';
import * as assert from 'uvu/assert';
import type { Actor } from '../../domain/event.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { accountAuthenticator } from '../../infra/nats/connect.ts';
import { brokerUserFactory } from '../../infra/nats/runner-users.ts';
import { readSeeds } from '../../infra/nats/server-keys.ts';
import { retryTransient } from '../../infra/runner/api-client.ts';
import { credentialRevocations } from '../../infra/runners/revoke-runner-credentials.ts';
import { agentOf, TENANT } from '../fixtures/generated-log.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { type NatsServer, waitUntil, withNatsServer } from '../fixtures/nats-server.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const logger = pino({ level: 'silent' });

const appendEvent = (
  log: Log,
  stream: string,
  expected: 'none' | number,
  type: string,
  data: object,
  actor: Actor = { kind: 'system', id: 'test' },
) => log.append(stream, expected, [{ id: randomUUID(), type, data, meta: { tenant: TENANT, actor, at: new Date().toISOString(), v: 1 } }]);

/**
 * Issues a credential as if the API key `key` had requested it: appends the event, and connects to the broker with the
 * credential.
 */
const issueCredential = async (
  broker: NatsServer,
  nats: NatsConnection,
  log: Log,
  id: string,
  agent: string,
  key: string,
  owner_id?: string,
) => {
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  // Try again if there is no answer: the NATS server does not answer while it applies an update of the account.
  const make = () => brokerUserFactory(nats, broker.address)({ tenant: TENANT, agent, credential: id, expires_at });
  const user = await retryTransient(make, AbortSignal.timeout(Math.round(10_000 * loadFactor())));
  const data = { agent_id: agent, owner_id, public_key: user.public_key, subject: '', stream: '', consumer: '', expires_at };
  await appendEvent(log, `runnercredential-${TENANT}.${id}`, 'none', 'RunnerCredentialIssued', data, {
    kind: 'agent',
    id: agent,
    key_id: key,
  });
  const authenticator = jwtAuthenticator(user.jwt, new TextEncoder().encode(user.seed));
  const reconnect = () =>
    connect({ servers: new URL(user.url).host, authenticator, reconnectTimeWait: 100, timeout: Math.round(5_000 * loadFactor()) });
  const connection = await reconnect();
  afterTest(() => connection.close());
  return { connection, reconnect };
};

const startRevoker = (broker: NatsServer, log: Log): void => {
  const { dir, clear } = createTempDirectory();
  cpSync(join(broker.dir, 'keys.json'), join(dir, 'nats', 'keys.json'));
  const revoker = credentialRevocations.start({ config: { ...broker.address, annalsData: dir }, log, logger });
  afterTest(() => revoker.close().finally(clear));
};

/** Counts the updates of accounts that are sent to the broker. */
const countUpdates = async (broker: NatsServer): Promise<() => number> => {
  const { system } = readSeeds(broker.dir)!;
  const observer = await connect({ servers: new URL(broker.address.natsUrl).host, authenticator: accountAuthenticator(system) });
  afterTest(() => observer.close());
  let count = 0;
  observer.subscribe('$SYS.REQ.ACCOUNT.*.CLAIMS.UPDATE', { callback: () => void count++ });
  await observer.flush();
  return () => count;
};

const isRefused = (reconnect: () => Promise<NatsConnection>): Promise<boolean> =>
  reconnect().then(
    (connection) => connection.close().then(() => false),
    (error: Error) => /authoriz|revoked/i.test(error.message),
  );

test(
  'revoking a credential or API key, deleting an agent and closing a tenant each end the connections of the credential at once, even after a restart of NATS',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const log = memoryLog();
    startRevoker(broker, log);
    const [revoked, withRevokedKey, ofDeletedAgent, valid] = await Promise.all([
      issueCredential(broker, nats, log, 'c1', agentOf(0), 'k1'),
      issueCredential(broker, nats, log, 'c2', agentOf(0), 'k2'),
      issueCredential(broker, nats, log, 'c3', agentOf(1), 'k3'),
      issueCredential(broker, nats, log, 'c4', agentOf(0), 'k4'),
    ]);
    await appendEvent(log, `runnercredential-${TENANT}.c1`, 0, 'RunnerCredentialRevoked', {});
    await waitUntil(() => revoked.connection.isClosed());
    assert.not(withRevokedKey.connection.isClosed());
    await appendEvent(log, 'apikey-platform.k2', 'none', 'ApiKeyRevoked', {});
    await waitUntil(() => withRevokedKey.connection.isClosed());
    await appendEvent(log, `agent-${TENANT}.${agentOf(1)}`, 'none', 'AgentDeleted', {});
    await waitUntil(() => ofDeletedAgent.connection.isClosed());
    assert.not(valid.connection.isClosed());
    await broker.kill();
    await broker.start();
    await waitUntil(() =>
      nats.flush().then(
        () => true,
        () => false,
      ),
    );
    for (const { reconnect } of [revoked, withRevokedKey, ofDeletedAgent]) await waitUntil(() => isRefused(reconnect));
    assert.not(await isRefused(valid.reconnect));
    await appendEvent(log, `tenant-${TENANT}.${TENANT}`, 'none', 'TenantClosed', {});
    await waitUntil(() => valid.connection.isClosed());
  }),
);

test(
  'a revoked credential is refused after a restart of NATS, also if no other runner has connected since',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const log = memoryLog();
    startRevoker(broker, log);
    const { connection, reconnect } = await issueCredential(broker, nats, log, 'c1', agentOf(0), 'k1');
    await appendEvent(log, `runnercredential-${TENANT}.c1`, 0, 'RunnerCredentialRevoked', {});
    await waitUntil(() => connection.isClosed());
    await broker.kill();
    await broker.start();
    // Until the revoker has connected again, and has sent its list to a server that knows no runner.
    await sleep(1_500);
    await waitUntil(() => isRefused(reconnect));
  }),
);

test(
  'the account of the runners is updated only for new revocations: nats-server can drop messages meanwhile',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const log = memoryLog();
    const updates = await countUpdates(broker);
    const [revoked, valid] = await Promise.all([
      issueCredential(broker, nats, log, 'c1', agentOf(0), 'k1'),
      issueCredential(broker, nats, log, 'c2', agentOf(0), 'k2'),
    ]);
    startRevoker(broker, log);
    const interrupt = async (): Promise<void> => {
      log.outage()();
      await sleep(1_500);
    };
    await interrupt();
    assert.is(updates(), 0);
    await appendEvent(log, `runnercredential-${TENANT}.c1`, 0, 'RunnerCredentialRevoked', {});
    await waitUntil(() => revoked.connection.isClosed());
    await interrupt();
    assert.is(updates(), 1);
    assert.not(valid.connection.isClosed());
  }),
);

test(
  'suspending or removing an owner, tenant or agent ends the connections of its credentials; after it is reinstated, only new credentials can connect',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const log = memoryLog();
    startRevoker(broker, log);
    let count = 0;
    const connectFor = (owner: string) => issueCredential(broker, nats, log, `c${count++}`, agentOf(0), `k-${owner}`, owner);
    const user = (name: string) => `user-platform.${name}`;
    const tenant = `tenant-${TENANT}.${TENANT}`;
    const revisions: Record<string, number> = {};
    const append = async (stream: string, type: string, data: object) => {
      const revision = revisions[stream];
      await appendEvent(log, stream, revision ?? 'none', type, data);
      revisions[stream] = (revision ?? -1) + 1;
    };
    const ends: [string, string, string, object][] = [
      [user('ann'), 'UserSuspended', 'UserResumed', {}],
      [tenant, 'MemberRemoved', 'MemberAdded', { user_id: 'ann' }],
      [tenant, 'TenantSuspended', 'TenantResumed', {}],
      [`agent-${TENANT}.${agentOf(0)}`, 'AgentDeleted', 'AgentRestored', {}],
    ];
    for (const [stream, ended, reinstated, data] of ends) {
      const [ann, bob] = [await connectFor('ann'), await connectFor('bob')];
      await append(stream, ended, data);
      await waitUntil(() => ann.connection.isClosed());
      const isAnnsOnly = stream === user('ann') || ended === 'MemberRemoved';
      if (isAnnsOnly) assert.not(bob.connection.isClosed(), ended);
      else await waitUntil(() => bob.connection.isClosed());
      await append(stream, reinstated, data);
      const again = await connectFor('ann');
      await waitUntil(() => isRefused(ann.reconnect));
      assert.not(again.connection.isClosed(), reinstated);
      await Promise.all([again, bob].map(({ connection }) => connection.close()));
    }
  }),
);

test.run();
