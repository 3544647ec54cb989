import { randomUUID } from 'node:crypto';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { connect, jwtAuthenticator, type NatsConnection } from 'nats';
import { pino } from 'pino';
import * as assert from 'uvu/assert';
import type { Actor } from '../../domain/event.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { brokerUsers } from '../../infra/nats/runner-users.ts';
import { revocationList, startCredentialRevoker } from '../../infra/reactors/revoke-runner-credentials.ts';
import { retryTransient } from '../../infra/runner/api-client.ts';
import { agentOf, TENANT } from '../fixtures/generated-log.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { type Broker, until, withBroker } from '../fixtures/nats-server.ts';
import { scratch } from '../fixtures/temp-directory.ts';
import { afterwards, test } from '../fixtures/test-with-cleanup.ts';

const logger = pino({ level: 'silent' });

const happened = (
  log: Log,
  stream: string,
  expected: 'none' | number,
  type: string,
  data: object,
  actor: Actor = { kind: 'system', id: 'test' },
) => log.append(stream, expected, [{ id: randomUUID(), type, data, meta: { tenant: TENANT, actor, at: new Date().toISOString(), v: 1 } }]);

/** A credential of an agent, asked for with a key: its event, and a connection that uses it. */
const issued = async (broker: Broker, nats: NatsConnection, log: Log, id: string, agent: string, key: string, owner_id?: string) => {
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  // The server has no answer while it takes what it is told of the account.
  const make = () => brokerUsers(nats, broker.address)({ tenant: TENANT, agent, credential: id, expires_at });
  const user = await retryTransient(make, () => {}, AbortSignal.timeout(10_000));
  const data = { agent_id: agent, owner_id, public_key: user.public_key, subject: '', stream: '', consumer: '', expires_at };
  await happened(log, `runnercredential-${TENANT}.${id}`, 'none', 'RunnerCredentialIssued', data, {
    kind: 'agent',
    id: agent,
    key_id: key,
  });
  const authenticator = jwtAuthenticator(user.jwt, new TextEncoder().encode(user.seed));
  const enter = () => connect({ servers: new URL(user.url).host, authenticator, reconnectTimeWait: 100 });
  const connection = await enter();
  afterwards(() => connection.close());
  return { connection, enter };
};

const revoking = (broker: Broker, log: Log): void => {
  const { dir, clear } = scratch();
  cpSync(join(broker.dir, 'keys.json'), join(dir, 'nats', 'keys.json'));
  const running = startCredentialRevoker({ ...broker.address, annalsData: dir, log, logger });
  afterwards(() => running.close().finally(clear));
};

const refused = (enter: () => Promise<NatsConnection>): Promise<boolean> =>
  enter().then(
    (connection) => connection.close().then(() => false),
    (error: Error) => /authoriz|revoked/i.test(error.message),
  );

type Taken = Parameters<ReturnType<typeof revocationList>['take']>[0];

const HOUR_MS = 3_600_000;
const BEGAN = Date.parse('2026-01-01T00:00:00.000Z');

/** An event so many ms after the beginning. */
const event = (type: string, id: string, after: number, data: object = {}, key_id = 'k'): Taken =>
  ({ type, id, tenant: TENANT, at: new Date(BEGAN + after).toISOString(), actor: { kind: 'agent', id: 'a', key_id }, data }) as never;
const issue = (id: string, after: number, key?: string): Taken =>
  event(
    'RunnerCredentialIssued',
    id,
    after,
    { public_key: `U${id}`, agent_id: 'a', expires_at: new Date(BEGAN + after + HOUR_MS).toISOString() },
    key,
  );

test('a credential whose key was revoked a moment before is void from its first moment', () => {
  const list = revocationList();
  assert.not(list.take(issue('c1', 0, 'k1')));
  assert.ok(list.take(event('ApiKeyRevoked', 'k1', 1_000)));
  assert.not(list.take(event('ApiKeyRevoked', 'k2', 1_000)));
  assert.ok(list.take(issue('c2', 2_000, 'k2')));
  assert.not(list.take(issue('c3', 2_000, 'k3')));
  assert.equal(Object.keys(list.current(BEGAN + 3_000)), ['Uc1', 'Uc2']);
});

test('what has expired is told to no broker, and not remembered while others come and go', () => {
  const list = revocationList();
  list.take(issue('c1', 0));
  assert.ok(list.take(event('RunnerCredentialRevoked', 'c1', 0)));
  assert.equal(Object.keys(list.current(BEGAN + HOUR_MS)), ['Uc1']);
  assert.equal(list.current(BEGAN + HOUR_MS + 1), {});
  const busy = revocationList();
  busy.take(event('ApiKeyRevoked', 'k0', 0));
  for (let index = 0; index < 10; index++) busy.take(issue(`c${index}`, index * HOUR_MS, `k${index}`));
  assert.not(busy.take(event('ApiKeyRevoked', 'k1', 10 * HOUR_MS)));
  assert.not(busy.take(issue('c10', 10 * HOUR_MS, 'k0')));
  assert.ok(busy.take(event('ApiKeyRevoked', 'k9', 10 * HOUR_MS)));
});

test(
  'a revoked credential, the revoked key it came by, a deleted agent and a closed tenant each end the connection at once, and after a restart too',
  withBroker(async (broker) => {
    const nats = await broker.connect();
    const log = memoryLog();
    revoking(broker, log);
    const [revoked, keyless, orphan, kept] = await Promise.all([
      issued(broker, nats, log, 'c1', agentOf(0), 'k1'),
      issued(broker, nats, log, 'c2', agentOf(0), 'k2'),
      issued(broker, nats, log, 'c3', agentOf(1), 'k3'),
      issued(broker, nats, log, 'c4', agentOf(0), 'k4'),
    ]);
    await happened(log, `runnercredential-${TENANT}.c1`, 0, 'RunnerCredentialRevoked', {});
    await until(() => revoked.connection.isClosed());
    assert.not(keyless.connection.isClosed());
    await happened(log, 'apikey-platform.k2', 'none', 'ApiKeyRevoked', {});
    await until(() => keyless.connection.isClosed());
    await happened(log, `agent-${TENANT}.${agentOf(1)}`, 'none', 'AgentDeleted', {});
    await until(() => orphan.connection.isClosed());
    assert.not(kept.connection.isClosed());
    await broker.kill();
    await broker.start();
    await until(() =>
      nats.flush().then(
        () => true,
        () => false,
      ),
    );
    for (const { enter } of [revoked, keyless, orphan]) await until(() => refused(enter));
    assert.not(await refused(kept.enter));
    await happened(log, `tenant-${TENANT}.${TENANT}`, 'none', 'TenantClosed', {});
    await until(() => kept.connection.isClosed());
  }),
);

test(
  'a suspended tenant, a suspended owner and one who is no member any more end connections too, for as long as they are that',
  withBroker(async (broker) => {
    const nats = await broker.connect();
    const log = memoryLog();
    revoking(broker, log);
    let made = 0;
    const enter = (owner: string) => issued(broker, nats, log, `c${made++}`, agentOf(0), `k-${owner}`, owner);
    const user = (name: string) => `user-platform.${name}`;
    const tenant = `tenant-${TENANT}.${TENANT}`;
    const streams: Record<string, number> = {};
    const tell = async (stream: string, type: string, data: object) => {
      const at = streams[stream];
      await happened(log, stream, at ?? 'none', type, data);
      streams[stream] = (at ?? -1) + 1;
    };
    const ends: [string, string, string, object][] = [
      [user('ann'), 'UserSuspended', 'UserResumed', {}],
      [tenant, 'MemberRemoved', 'MemberAdded', { user_id: 'ann' }],
      [tenant, 'TenantSuspended', 'TenantResumed', {}],
      [`agent-${TENANT}.${agentOf(0)}`, 'AgentDeleted', 'AgentRestored', {}],
    ];
    for (const [stream, ended, begun, data] of ends) {
      const [ann, bob] = [await enter('ann'), await enter('bob')];
      await tell(stream, ended, data);
      await until(() => ann.connection.isClosed());
      const isHers = stream === user('ann') || ended === 'MemberRemoved';
      if (isHers) assert.not(bob.connection.isClosed(), ended);
      else await until(() => bob.connection.isClosed());
      await tell(stream, begun, data);
      const again = await enter('ann');
      await until(() => refused(ann.enter));
      assert.not(again.connection.isClosed(), begun);
      await Promise.all([again, bob].map(({ connection }) => connection.close()));
    }
  }),
);

test.run();
