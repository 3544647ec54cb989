import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { PLATFORM } from '../../domain/event.ts';
import { secret } from '../../domain/secret.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { startErasure } from '../../domain/tenants/tenant-erasure.ts';
import { openAggregateCache } from '../../infra/aggregates/aggregate-cache.ts';
import { createTransact } from '../../infra/aggregates/transact.ts';
import { openBlobStore, openDirectoryPlace } from '../../infra/blobs/open-blob-store.ts';
import { erasures } from '../../infra/erasure/erase-tenants.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { ensureInbound, manager, STREAM } from '../../infra/nats/jetstream.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { dataKeyStream, readWrappedKeys } from '../../infra/vault/wrapped-keys.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { tenants } from '../../projections/tenants/tenant.ts';
import { findText } from '../faults/secret-search.ts';
import { query, silentLogger, startProjectionPlatform, waitForProjection } from '../fixtures/live-projections.ts';
import { waitUntil, withNatsServer } from '../fixtures/nats-server.ts';
import { startWorker } from '../fixtures/start-worker.ts';
import { startStore } from '../fixtures/store-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const [ERASED, KEPT] = ['cerased'.padEnd(25, '1'), 'ckept'.padEnd(25, '1')] as const;
const BOTH = [ERASED, KEPT];

const createDecider = (log: Log) => {
  const transact = createTransact(log, openAggregateCache(log, []));
  const meta = (tenant: string) => ({ tenant, actor: { kind: 'system', id: 'test' } as const, at: new Date().toISOString(), v: 1 });
  return (id: string, decide: (tenant: Tenant.Tenant) => readonly Tenant.TenantEvent[]) =>
    transact({ aggregate: Tenant, tenant: id, id, decide, meta: meta(id), seed: String(Math.random()) });
};

/**
 * Returns a function `step` that throws an error when it is called with a name for the first time, as if the process
 * had been killed at the step of this name.
 */
const failOnce = () => {
  const failed: string[] = [];
  const step = (name: string): void => {
    if (failed.includes(name)) return;
    failed.push(name);
    throw new Error(`killed at ${name}`);
  };
  return { failed, step };
};

/** Returns the ids of the tenants that have rows in the audit log's tables. */
const tenantsIn = async (databaseUrl: string): Promise<string[]> => {
  const rows = await query<{ tenant: string }>(
    databaseUrl,
    `select tenant_id as tenant from audit.audit_logs union select tenant_id from audit.audit_counts
      union select of_tenant from audit.subjects where id <> of_tenant order by tenant`,
  );
  return rows.map(({ tenant }) => tenant).filter((tenant) => tenant !== null && tenant !== PLATFORM);
};

/** Appends an event to a stream of the erased tenant, like a reactor that does not know of the erasure yet. */
const appendLate = (log: Log) => {
  const meta = { tenant: ERASED, actor: { kind: 'system', id: 'test' } as const, at: new Date().toISOString(), v: 1 };
  return log.append(`session-${ERASED}.s1`, 'none', [{ id: randomUUID(), type: 'SessionExpired', data: {}, meta }]);
};

/**
 * Builds the projections again in an empty database. Asserts that they contain no rows of the erased tenant, and that
 * the platform's audit log has the same entries as before.
 */
const assertRebuilt = async (log: Log, entries: readonly object[]): Promise<void> => {
  const databaseUrl = await freshDatabase();
  const platform = await startProjectionPlatform(log, databaseUrl, [tenants, audit] as unknown as AnyProjection[]);
  for (const name of ['tenants', 'audit']) await waitForProjection(platform.reads, log, name);
  assert.equal(await tenantsIn(databaseUrl), [KEPT]);
  assert.equal(await query(databaseUrl, 'select id from tenants.tenants'), [{ id: KEPT }]);
  assert.equal(await query(databaseUrl, 'select * from annals.parked'), []);
  assert.equal(await query(databaseUrl, 'select id, doc from audit.platform_audit_logs order by place'), entries);
  await platform.close();
};

test(
  'after an erasure is interrupted at any step and completed, no key, row, message or file of the tenant is left; those of other tenants stay',
  withNatsServer(async (broker) => {
    const { dir } = createTempDirectory();
    const store = await startStore({ dir: join(dir, 'store') });
    const log = openLog(store.url);
    const databaseUrl = await freshDatabase();
    const vault = await openVault({ log, masterKeyFile: join(dir, 'master.key') });
    const place = openDirectoryPlace(join(dir, 'blobs'));
    const blobs = openBlobStore(place, vault);
    const platform = await startProjectionPlatform(log, databaseUrl, [tenants, audit] as unknown as AnyProjection[]);
    const nats = await broker.connect();
    await ensureInbound(nats);
    const decide = createDecider(log);
    for (const id of BOTH) {
      await decide(id, Tenant.create({ name: id, slug: id, plan_id: id, billing_email: null, generation: 0 }, id));
      await vault.seal({ tenant: id, category: 'agent', id: 'a', field: 'f' }, secret('canary'));
      await blobs.of(id).put(Buffer.from(`the file of ${id}`));
      for (const agent of ['a1', 'a2']) await nats.jetstream().publish(`agents.${id}.${agent}.inbound`, `the message to ${id}`);
    }
    const wrapped = await Promise.all(BOTH.map(async (id) => (await readWrappedKeys(log, id, 'vault'))[0]!.wrapped));
    await decide(ERASED, startErasure('a test'));

    const { failed, step } = failOnce();
    const killed: Log = {
      ...log,
      tombstone: async (stream) => {
        step('before the key is destroyed');
        await log.tombstone(stream);
        step('after the key was destroyed');
      },
      append: async (stream, expected, events, options) => {
        step(`before ${events[0]!.type}`);
        const appended = await log.append(stream, expected, events, options);
        step(`after ${events[0]!.type}`);
        return appended;
      },
    };
    const eraser = startWorker([erasures], {
      ...{ log: killed, databaseUrl, logger: silentLogger, intervalMs: 50, vault: { open: async () => vault } },
      config: { annalsData: dir, natsUrl: broker.address.natsUrl },
      broker: {
        connection: async () => {
          step('before the messages are removed');
          return nats;
        },
      },
      blobPlace: async () => {
        step('before the files are removed');
        // Simulate that the relay decrypted a message before the data key was destroyed, and publishes it now.
        await nats.jetstream().publish(`agents.${ERASED}.a1.inbound`, 'a late message');
        return place;
      },
    });
    const completed = async () => (await log.last(`tenant-${ERASED}.${ERASED}`))?.type === 'TenantErasureCompleted';
    await waitUntil(completed, 60_000, 'the erasure is completed');
    await eraser.close();
    assert.is(failed.length, 11 + (failed.includes('after TenantErasureCompleted') ? 1 : 0), failed.join());

    const types = (await Array.fromAsync(log.read(`tenant-${ERASED}.${ERASED}`))).map(({ type }) => type);
    assert.equal(types.slice(2), [
      'TenantErasureStarted',
      'TenantClosed',
      'TenantDataKeyDestroyed',
      'TenantErased',
      'TenantErasureCompleted',
    ]);
    const gone = await Array.fromAsync(log.read(dataKeyStream(ERASED))).catch(({ kind }: { kind: string }) => kind);
    assert.is(gone, 'gone');
    const { state } = await (await manager(nats)).streams.info(STREAM, { subjects_filter: '>' });
    assert.equal(Object.keys(state.subjects!).sort(), [`agents.${KEPT}.a1.inbound`, `agents.${KEPT}.a2.inbound`]);
    assert.equal(
      (await Array.fromAsync(place.backend.list())).map(({ tenant }) => tenant),
      [KEPT],
    );
    await waitForProjection(platform.reads, log, 'tenants');
    assert.equal(await query(databaseUrl, 'select id from tenants.tenants'), [{ id: KEPT }]);
    assert.equal(await tenantsIn(databaseUrl), [KEPT]);
    const platformEntries = (url: string) => query(url, 'select id, doc from audit.platform_audit_logs order by place');
    const entries = await platformEntries(databaseUrl);
    await appendLate(log);
    await waitForProjection(platform.reads, log, 'audit');
    assert.equal(await tenantsIn(databaseUrl), [KEPT], 'a late event of the tenant yields no row');
    await assertRebuilt(log, entries);
    assert.is(findText(wrapped[1]!, [join(dir, 'store')]).length > 0, true, 'the key of the other tenant is found');
    assert.equal(findText(wrapped[0]!, [join(dir, 'store')]), []);
    await nats.close();
    await platform.close();
    await log.close();
    await store.end();
  }),
);

test.run();
