// limit: 300 s for this file (test/run.ts)

import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { receiptOf } from '../../commands/tenants/erase-tenant.ts';
import { secret } from '../../domain/secret.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { type ErasureRecord, startErasure } from '../../domain/tenants/tenant-erasure.ts';
import { openAggregateCache } from '../../infra/aggregates/aggregate-cache.ts';
import { createTransact } from '../../infra/aggregates/transact.ts';
import { openBlobStore, openDirectoryPlace } from '../../infra/blobs/open-blob-store.ts';
import { erasures } from '../../infra/erasure/erase-tenants.ts';
import { erasurePorts } from '../../infra/erasure/erasure-ports.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { ensureInbound, manager, STREAM } from '../../infra/nats/jetstream.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { dataKeyStream, readWrappedKeys } from '../../infra/vault/wrapped-keys.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { tenants } from '../../projections/tenants/tenant.ts';
import { findText } from '../faults/secret-search.ts';
import { startProgram } from '../fixtures/child-process.ts';
import { query, silentLogger, startProjectionPlatform, waitForProjection, waitUntil } from '../fixtures/live-projections.ts';
import { withNatsServer } from '../fixtures/nats-server.ts';
import { startWorker } from '../fixtures/start-worker.ts';
import { startStore } from '../fixtures/store-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const program = join(import.meta.dirname, '../fixtures/erasure-process.ts');
const KEPT = 'ckept'.padEnd(25, '1');
const TYPES = ['TenantErasureStarted', 'TenantClosed', 'TenantDataKeyDestroyed', 'TenantErased', 'TenantErasureCompleted'];

/** Starts the services of a platform. Also returns functions that create and erase tenants. */
const openServices = async (broker: Parameters<Parameters<typeof withNatsServer>[0]>[0]) => {
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
  const transact = createTransact(log, openAggregateCache(log, []));
  const decide = (id: string, decision: (tenant: Tenant.Tenant) => readonly Tenant.TenantEvent[]) => {
    const meta = { tenant: id, actor: { kind: 'system', id: 'test' } as const, at: new Date().toISOString(), v: 1 };
    return transact({ aggregate: Tenant, tenant: id, id, decide: decision, meta, seed: String(Math.random()) });
  };
  const createTenant = async (id: string): Promise<void> => {
    await decide(id, Tenant.create({ name: id, slug: id, plan_id: id, billing_email: null, generation: 0 }, id));
    await vault.seal({ tenant: id, category: 'agent', id: 'a', field: 'f' }, secret('canary'));
    await blobs.of(id).put(Buffer.from(`the file of ${id}`));
    await nats.jetstream().publish(`agents.${id}.a1.inbound`, `the message to ${id}`);
  };
  const ports = erasurePorts({ log, vault });
  const recordOf = async (id: string): Promise<ErasureRecord | null> => (await decide(id, () => [])).state.erasure!.record;
  const services = {
    ...{ log, databaseUrl, logger: silentLogger, intervalMs: 50, vault: { open: async () => vault }, blobPlace: async () => place },
    ...{ config: { annalsData: dir, natsUrl: broker.address.natsUrl }, broker: { connection: async () => nats } },
  };
  return {
    dir,
    store,
    log,
    databaseUrl,
    place,
    platform,
    nats,
    createTenant,
    startErasure: (id: string) => decide(id, startErasure('a test')),
    /** Returns the receipt of the tenant's erasure, or null if the record of the erasure is not complete yet. */
    receipt: async (id: string) => {
      const record = await recordOf(id);
      return record && receiptOf(ports, id, record);
    },
    startWorker: () => startWorker([erasures], services),
    close: async (): Promise<void> => {
      await nats.close();
      await platform.close();
      await log.close();
      await store.end();
    },
  };
};

type Services = Awaited<ReturnType<typeof openServices>>;

const assertErased = async (s: Services, tenant: string, wrapped: string): Promise<void> => {
  const types = (await Array.fromAsync(s.log.read(`tenant-${tenant}.${tenant}`))).map(({ type }) => type);
  assert.equal(types.slice(2), TYPES);
  const keys = await Array.fromAsync(s.log.read(dataKeyStream(tenant))).catch(({ kind }: { kind: string }) => kind);
  assert.is(keys, 'gone');
  assert.equal(findText(wrapped, [join(s.dir, 'store')]), [], 'the wrapped key');
  const { state } = await (await manager(s.nats)).streams.info(STREAM, { subjects_filter: '>' });
  assert.equal(Object.keys(state.subjects!), [`agents.${KEPT}.a1.inbound`]);
  const files = await Array.fromAsync(s.place.backend.list());
  assert.equal(
    files.map((entry) => entry.tenant),
    [KEPT],
  );
  await waitForProjection(s.platform.reads, s.log, 'audit');
  assert.equal(await query(s.databaseUrl, 'select id from tenants.tenants'), [{ id: KEPT }]);
  const audited = await query(s.databaseUrl, "select distinct tenant_id from audit.audit_logs where tenant_id <> 'platform'");
  assert.equal(audited, [{ tenant_id: KEPT }]);
};

test(
  'if the process of an erasure is killed before any of the steps, the next worker completes the erasure, and the receipt is the same',
  withNatsServer(async (broker) => {
    const s = await openServices(broker);
    await s.createTenant(KEPT);
    let killed = 0;
    for (let isOver = false; !isOver; ) {
      const tenant = `cerased${killed}x`.padEnd(25, '0');
      await s.createTenant(tenant);
      const wrapped = (await readWrappedKeys(s.log, tenant, 'vault'))[0]!.wrapped;
      await s.startErasure(tenant);
      const child = startProgram(process.execPath, [
        program,
        s.store.url,
        s.databaseUrl,
        broker.address.natsUrl,
        broker.address.natsAccountSeed,
        s.dir,
        tenant,
        String(killed + 1),
      ]);
      const end = await child.ended;
      isOver = end === 0;
      if (!isOver) assert.is(end, 'SIGKILL', child.output());
      const before = await s.receipt(tenant);
      const worker = s.startWorker();
      const last = async () => (await s.log.last(`tenant-${tenant}.${tenant}`))?.type;
      await waitUntil('the erasure is completed', last, (type) => type === 'TenantErasureCompleted', 30);
      await worker.close();
      const receipt = await s.receipt(tenant);
      assert.ok(receipt);
      if (before) assert.equal(receipt, before, child.output());
      assert.equal([receipt.streams, receipt.events], [1, 4], child.output());
      await assertErased(s, tenant, wrapped);
      if (!isOver) killed += 1;
    }
    assert.ok(killed >= 15, `${killed} kills`);
    console.log(`killed before each of ${killed} steps`);
    await s.close();
  }),
);

test.run();
