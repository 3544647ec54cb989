import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { NatsConnection } from 'nats';
import type pg from 'pg';
import { advanceErasure, type ErasurePorts } from '../../commands/tenants/erase-tenant.ts';
import { parseToken } from '../../domain/event.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { completeErasure, type ErasureRecord, type RemovedRemains } from '../../domain/tenants/tenant-erasure.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import type { BlobPlace } from '../blobs/open-blob-store.ts';
import { removeTenantBlobs } from '../blobs/remove-tenant-blobs.ts';
import type { Config } from '../config.ts';
import { removeTenantMessages } from '../nats/remove-messages.ts';
import { connectionConfig } from '../postgres/pool.ts';
import { eraseTenantRows, type OnStep, projectionsBehind, rebuildsBehind } from '../projector/erase-rows.ts';
import { type FollowerServices, followEvents } from '../reactors/follow-events.ts';
import { type Runs, type TimerServices, timedRuns } from '../reactors/timed.ts';
import type { LazyVault } from '../vault/lazy-vault.ts';
import { dataKeyStream } from '../vault/wrapped-keys.ts';
import { erasurePorts } from './erasure-ports.ts';

/** Frees disk space in an external event store. Its operator must run it on every node. */
const CLUSTER_COMMAND = 'curl -X POST http://<node>:2113/admin/scavenge -u admin:<password>';

type Services = Pick<TimerServices, 'log' | 'logger' | 'now'> & {
  readonly databaseUrl: string;
  /** Without `natsUrl`, there are no messages. */
  readonly config: Pick<Config, 'annalsData' | 'natsUrl'>;
  /** @throws Error if the broker cannot be reached at present */
  readonly broker: { readonly connection: () => Promise<NatsConnection> };
  /** Null if no file store is configured. */
  readonly blobPlace: () => Promise<Pick<BlobPlace, 'backend'> | null>;
  /** Opens the key that signs receipts. Only its id is needed, unless the platform has no such key yet. */
  readonly vault: Pick<LazyVault, 'open'>;
  readonly onStep?: OnStep;
};

/** Erases destroyed keys from the disk of the embedded store. For an external one, logs that its operator must scavenge it. */
const scavenge = async ({ config, logger }: Services): Promise<void> => {
  const dir = join(config.annalsData, 'store');
  if (!existsSync(join(dir, 'serving')))
    return logger.warn({ command: CLUSTER_COMMAND }, 'scavenge the event store, to erase the destroyed data key from its disks');
  const { callRunningStore, SCAVENGE } = await import('../eventstore/embedded/admin-rpc.ts');
  logger.info({ result: await callRunningStore(dir, SCAVENGE) }, 'the event store was scavenged');
};

const assertCaughtUp = (behind: readonly string[]): void => {
  if (behind.length > 0) throw new Error(`the projections ${behind.join(', ')} have not caught up`);
};

/**
 * Removes messages, files and rows, and the disk space of destroyed keys in the event store. All steps can be repeated.
 * @throws Error if projections or rebuilds have not reached the position of the erasure
 */
const removeRemains = async (services: Services, tenant: string, { position }: ErasureRecord): Promise<RemovedRemains> => {
  const { onStep = () => {} } = services;
  onStep('remove the messages');
  const nats = services.config.natsUrl ? await services.broker.connection() : null;
  const removeMessages = async (): Promise<number> => (nats ? removeTenantMessages(nats, tenant) : 0);
  const messages = await removeMessages();
  onStep('remove the files');
  const place = await services.blobPlace();
  const blobs = place ? await removeTenantBlobs(place.backend, tenant) : 0;
  // Use a separate connection: deleting from a large table takes longer than the pool's time limit for statements.
  const { default: driver } = await import('pg');
  const db: pg.Client = new driver.Client(connectionConfig(services.databaseUrl, 'erasure', '-c statement_timeout=0'));
  await db.connect();
  try {
    const at = parseToken(position)!;
    // Projections ignore the tenant's events after this position, so remove rows only when all have reached it.
    assertCaughtUp(await projectionsBehind(db, at));
    await eraseTenantRows(db, tenant, onStep);
    assertCaughtUp(await rebuildsBehind(db, at));
    // Remove rows a second time, because a rebuild may have written some in between.
    await eraseTenantRows(db, tenant);
  } finally {
    await db.end();
  }
  onStep('scavenge the event store');
  await scavenge(services);
  // Remove them a second time: the relay may have published a message that it decrypted before the key was destroyed.
  onStep('remove late messages');
  return { messages: messages + (await removeMessages()), blobs };
};

/** Returns the ports with which the reactor erases a tenant. They can destroy the data key without the master key. */
const portsOf = ({ log, vault, now }: Services): ErasurePorts =>
  erasurePorts({
    log,
    now,
    vault: {
      destroyDataKeys: (tenant) => log.tombstone(dataKeyStream(tenant)),
      seal: async (location, plain) => (await vault.open()).seal(location, plain),
      open: async (location, sealed) => (await vault.open()).open(location, sealed),
    },
  });

/**
 * Each step finds out whether an earlier attempt has done it. Returns false if not all events are counted yet: another attempt must
 * continue.
 */
export const finishErasure = async (services: Services, tenant: string): Promise<boolean> => {
  const { log, now } = services;
  const ctx = reactorContext(log, { now }).inTenant(tenant);
  const { state } = await advanceErasure(ctx, portsOf(services), tenant);
  const { record, is_completed } = state.erasure!;
  if (!record) return false;
  if (!is_completed) await ctx.transact(Tenant, tenant, completeErasure(await removeRemains(services, tenant, record)));
  return true;
};

const openErasures = (services: Services & TimerServices & FollowerServices): Runs => {
  // While an erasure is not completed, no position is stored, so that a restart finds it again.
  const open = new Set<string>();
  const { close } = followEvents(
    {
      name: 'tenant erasures',
      eventTypes: ['TenantErasureStarted', 'TenantErasureCompleted'],
      handle: async ({ type, id }) => void (type === 'TenantErasureStarted' ? open.add(id) : open.delete(id)),
      failure: 'erasures cannot be followed now; trying again',
      mayStore: () => open.size === 0,
    },
    services,
  );
  const finish = async (tenant: string): Promise<void> => {
    if (!(await finishErasure(services, tenant))) return;
    open.delete(tenant);
    services.logger.info({ tenant }, 'a tenant was erased');
  };
  const run = async (): Promise<boolean> => {
    const failures: unknown[] = [];
    for (const tenant of [...open]) await finish(tenant).catch((error) => failures.push(error));
    if (failures.length > 0) throw failures[0];
    return open.size > 0;
  };
  return { run, close };
};

/** Finishes erasures that requests have started, also interrupted ones. Repeats failed attempts. */
export const erasures = timedRuns({
  lock: 'reactor tenant erasures',
  everyMs: 2_000,
  failure: 'the erasure of a tenant cannot be finished now; trying again',
  open: openErasures,
});
