import type { ErasurePorts } from '../../commands/tenants/erase-tenant.ts';
import { category as KEYS } from '../../domain/wrapped-key.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';
import type { Vault } from '../vault/vault.ts';
import { throwAsRefusal } from './transact.ts';

/** How long a request waits while the events of a tenant are counted. */
const COUNT_TIMEOUT_MS = 20_000;

type Count = { readonly streams: number; readonly events: number };

/**
 * Counts the tenant's streams and events, without those of its destroyed keys. The store selects them, so that only
 * they are sent.
 * @throws LogError unavailable if that takes too long
 */
export const countTenantEvents = async (log: Log, tenant: string, timeoutMs = COUNT_TIMEOUT_MS): Promise<Count> => {
  const streams = new Set<string>();
  let events = 0;
  const { promise: counted, resolve } = Promise.withResolvers<null>();
  const subscription = log.follow({
    filter: { streamPattern: `^(?!${KEYS}-)[a-z]+-${tenant}\\.` },
    event: ({ stream }) => {
      streams.add(stream);
      events += 1;
    },
    caughtUp: () => resolve(null),
  });
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new LogError('unavailable', 'the events of the tenant are still being counted')), timeoutMs);
  try {
    const failure = await Promise.race([counted, subscription.failure, late]);
    if (failure) throw failure;
    return { streams: streams.size, events };
  } finally {
    clearTimeout(timer);
    await subscription.stop();
  }
};

/** Destroys a tenant's data key and counts what the log still holds of the tenant. @throws LogError unavailable */
export const destroyTenantData = async (log: Log, vault: Pick<Vault, 'destroyDataKeys'>, tenant: string, now: () => number) => {
  await vault.destroyDataKeys(tenant);
  const key_destroyed_at = new Date(now()).toISOString();
  return { key_destroyed_at, ...(await countTenantEvents(log, tenant)) };
};

/** Creates the ports with which requests erase tenants. */
export const erasurePorts = (
  log: Log,
  vault: Pick<Vault, 'destroyDataKeys' | 'signReceipt'>,
  now: () => number = Date.now,
): ErasurePorts => ({
  destroyData: (tenant) => destroyTenantData(log, vault, tenant, now).catch(throwAsRefusal),
  sign: vault.signReceipt,
});
