import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, jwtAuthenticator, type NatsConnection } from 'nats';
import { pino } from 'pino';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Actor } from '../domain/event.ts';
import type { Log } from '../infra/eventstore/log.ts';
import { brokerUsers } from '../infra/nats/credentials.ts';
import { startRevocations } from '../infra/nats/revocations.ts';
import { type Broker, until, withBroker } from './broker.ts';
import { agentOf, TENANT } from './generated-log.ts';
import { memoryLog } from './memory-log.ts';

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
const issued = async (broker: Broker, nats: NatsConnection, log: Log, id: string, agent: string, key: string) => {
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const user = await brokerUsers(nats, broker.address)({ tenant: TENANT, agent, credential: id, expires_at });
  const data = { agent_id: agent, public_key: user.public_key, subject: '', stream: '', consumer: '', expires_at };
  await happened(log, `runnercredential-${TENANT}.${id}`, 'none', 'RunnerCredentialIssued', data, {
    kind: 'agent',
    id: agent,
    key_id: key,
  });
  const authenticator = jwtAuthenticator(user.jwt, new TextEncoder().encode(user.seed));
  const enter = () => connect({ servers: new URL(user.url).host, authenticator, reconnectTimeWait: 100 });
  return { connection: await enter(), enter };
};

const refused = (enter: () => Promise<NatsConnection>): Promise<boolean> =>
  enter().then(
    (connection) => connection.close().then(() => false),
    (error: Error) => /authoriz|revoked/i.test(error.message),
  );

test(
  'a revoked credential, the revoked key it came by, a deleted agent and a closed tenant each end the connection at once, and after a restart too',
  withBroker(async (broker) => {
    const annalsData = mkdtempSync(join(tmpdir(), 'annals-data-'));
    cpSync(join(broker.dir, 'keys.json'), join(annalsData, 'nats', 'keys.json'));
    const nats = await broker.connect();
    const log = memoryLog();
    const running = startRevocations({ ...broker.address, annalsData, log, logger });
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
    await running.close();
    rmSync(annalsData, { recursive: true });
  }),
);

test.run();
