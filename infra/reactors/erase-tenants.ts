import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { NatsConnection } from 'nats';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Decision } from '../../domain/aggregate.ts';
import { type Actor, parseToken } from '../../domain/event.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { completeErasure, type ErasureRecord, type RemovedRemains, recordErased } from '../../domain/tenants/tenant-erasure.ts';
import { projections } from '../../projections/registry.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { destroyTenantData } from '../aggregates/erasure-ports.ts';
import { createTransact } from '../aggregates/transact.ts';
import type { BlobBackend } from '../blobs/blob-backend.ts';
import { removeTenantBlobs } from '../blobs/remove-tenant-blobs.ts';
import type { Log } from '../eventstore/event-log.ts';
import { removeTenantMessages } from '../nats/remove-messages.ts';
import { connectionConfig } from '../postgres/pool.ts';
import { eraseTenantRows, projectionsBehind } from '../projector/erase-rows.ts';
import { dataKeyStream } from '../vault/wrapped-keys.ts';
import { startTimedReactor, type TimedReactorParts } from './timed-reactor.ts';

const INTERVAL_MS = 2_000;
const LOCK = 'reactor tenant erasures';
const ACTOR: Actor = { kind: 'system', id: 'annals' };
const PROJECTIONS = projections.map(({ name }) => name);
/** The operator of an event store of their own runs this on every node. */
const CLUSTER_COMMAND = 'curl -X POST http://<node>:2113/admin/scavenge -u admin:<password>';

export type ErasureReactorParts = TimedReactorParts & {
  readonly log: Log;
  /** The connection to the broker; null if this platform has none. @throws if it cannot be reached now */
  readonly nats: () => Promise<NatsConnection | null>;
  /** The place of the stored files; null if this platform has none. */
  readonly blobs: () => Promise<BlobBackend | null>;
  readonly annalsData: string;
};

/** Frees the disk space of the destroyed keys. The operator of an event store of their own does that. */
const scavenge = async ({ annalsData, logger }: ErasureReactorParts): Promise<void> => {
  const dir = join(annalsData, 'store');
  if (!existsSync(join(dir, 'serving')))
    return logger.warn({ command: CLUSTER_COMMAND }, 'scavenge the event store, to erase the destroyed data key from its disks');
  const { callRunningStore, SCAVENGE } = await import('../eventstore/embedded/admin-rpc.ts');
  logger.info({ result: await callRunningStore(dir, SCAVENGE) }, 'the event store was scavenged');
};

/** Removes what is left of a tenant outside the log. Everything in it can be repeated. */
const removeRemains = async (parts: ErasureReactorParts, tenant: string, { position }: ErasureRecord): Promise<RemovedRemains> => {
  const nats = await parts.nats();
  const messages = nats ? await removeTenantMessages(nats, tenant) : 0;
  const backend = await parts.blobs();
  const blobs = backend ? await removeTenantBlobs(backend, tenant) : 0;
  const { default: driver } = await import('pg');
  const db: pg.Client = new driver.Client(connectionConfig(parts.databaseUrl, 'erasure'));
  await db.connect();
  try {
    const behind = await projectionsBehind(db, PROJECTIONS, parseToken(position)!);
    if (behind.length > 0) throw new Error(`the projections ${behind.join(', ')} have not caught up`);
    await eraseTenantRows(db, tenant);
  } finally {
    await db.end();
  }
  await scavenge(parts);
  return { messages, blobs };
};

/** Does what is left to do to erase a tenant. Each step finds out whether an earlier attempt has done it. */
export const finishErasure = async (parts: ErasureReactorParts, tenant: string, now: () => number): Promise<void> => {
  const { log } = parts;
  const transact = createTransact(log, openAggregateCache(log, []));
  const change = (decide: Decision<Tenant.Tenant, Tenant.TenantEvent>, seed: string) => {
    const meta = { tenant, actor: ACTOR, at: new Date(now()).toISOString(), v: 1 };
    return transact({ aggregate: Tenant, tenant, id: tenant, decide, meta, seed });
  };
  const destroyDataKeys = (id: string): Promise<void> => log.tombstone(dataKeyStream(id));
  const loaded = await change(() => [], 'load');
  const record =
    loaded.state.erasure?.record ??
    (await change(recordErased(await destroyTenantData(log, { destroyDataKeys }, tenant, now)), 'erased')).state.erasure!.record!;
  await change(completeErasure(await removeRemains(parts, tenant, record)), 'completed');
};

/** Follows the log and keeps the ids of the tenants whose erasure has started and is not completed. */
const followErasures = (log: Log, logger: Logger) => {
  const open = new Set<string>();
  const subscription = log.follow({
    filter: { eventTypes: ['TenantErasureStarted', 'TenantErasureCompleted'] },
    event: ({ type, id }) => void (type === 'TenantErasureStarted' ? open.add(id) : open.delete(id)),
  });
  void subscription.failure.then((error) => error && logger.error({ error: error.message }, 'erasures cannot be followed'));
  return { open, stop: subscription.stop };
};

/**
 * Finishes the erasures of tenants: those that requests have started, and those that were interrupted. One process at a
 * time does this. A failed attempt is repeated.
 */
export const startTenantEraser = (parts: ErasureReactorParts): { close: () => Promise<void> } => {
  const { log, logger, now = Date.now } = parts;
  const { open, stop } = followErasures(log, logger);
  const reactor = startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'the erasure of a tenant cannot be finished now; trying again',
      run: async () => {
        for (const tenant of [...open]) {
          await finishErasure(parts, tenant, now);
          open.delete(tenant);
          logger.info({ tenant }, 'a tenant was erased');
        }
        return false;
      },
    },
    parts,
  );
  return {
    close: async () => {
      await reactor.close();
      await stop();
    },
  };
};
