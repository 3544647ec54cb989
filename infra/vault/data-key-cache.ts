import type { Log } from '../eventstore/event-log.ts';
import { createLruMap } from '../lru-map.ts';
import type { NamedKey } from './cipher.ts';
import { createKey, DATA_KEY_ID, readWrappedKeys, unwrapKey } from './wrapped-keys.ts';

/** A tenant's data keys, oldest first. */
type DataKeys = readonly NamedKey[];

const MAX_TENANTS = 1_000;

/**
 * Creates a cache of the tenants' decrypted data keys. It keeps the keys of the most recently used tenants in memory.
 */
export const createDataKeyCache = (log: Log, master: NamedKey) => {
  const keysByTenant = createLruMap<string, Promise<DataKeys>>({ capacity: MAX_TENANTS });

  const load = async (tenant: string): Promise<DataKeys> =>
    (await readWrappedKeys(log, tenant, DATA_KEY_ID)).map((wrapped) => unwrapKey(master, tenant, DATA_KEY_ID, wrapped));

  const create = async (tenant: string): Promise<DataKeys> => [await createKey(log, master, tenant, DATA_KEY_ID)];

  const store = (tenant: string, keys: Promise<DataKeys>): Promise<DataKeys> => {
    keysByTenant.set(tenant, keys);
    // A failed load is not cached: the next call reads the log again.
    keys.catch(() => keysByTenant.peek(tenant) === keys && keysByTenant.delete(tenant));
    return keys;
  };

  const keysOf = (tenant: string): Promise<DataKeys> => keysByTenant.get(tenant) ?? store(tenant, load(tenant));

  return {
    /** Returns the tenant's newest key. Creates one if the tenant has none. @throws LogError */
    newestDataKey: async (tenant: string): Promise<NamedKey> =>
      (await keysOf(tenant)).at(-1) ?? (await store(tenant, create(tenant))).at(-1)!,
    /**
     * Returns the tenant's data key with this id. If the key is not in memory, reads the tenant's keys from the log
     * again.
     * @throws Error if the key does not exist
     * @throws LogError
     */
    dataKeyById: async (tenant: string, kid: string): Promise<Uint8Array> => {
      const hasId = (named: NamedKey): boolean => named.kid === kid;
      const found = (await keysOf(tenant)).find(hasId) ?? (await store(tenant, load(tenant))).find(hasId);
      if (!found) throw new Error(`tenant ${tenant} has no key ${kid}`);
      return found.key;
    },
  };
};
