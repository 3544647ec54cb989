import { Refusal } from '../../domain/refusal.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';
import { createLruMap } from '../lru-map.ts';
import type { NamedKey } from './cipher.ts';
import type { MasterKeys } from './master-keys.ts';
import { createKey, DATA_KEY_ID, readWrappedKeys, unwrapKeys } from './wrapped-keys.ts';

/** A tenant's data keys, the oldest first. */
type DataKeys = readonly NamedKey[];

/** Thrown if a stored text or blob refers to a data key that the tenant does not have. */
export class UnknownKey extends Error {
  constructor(tenant: string, kid: string) {
    super(`tenant ${tenant} has no key ${kid}`);
    this.name = 'UnknownKey';
  }
}

export type DataKeyCache = {
  /** Creates a key if the tenant has none. @throws Refusal unavailable if a key cannot be decrypted @throws LogError */
  readonly newestDataKey: (tenant: string) => Promise<NamedKey>;
  /** If the key is not in memory, reads the log again. @throws UnknownKey, LogError, Refusal unavailable if a key cannot be decrypted */
  readonly dataKeyById: (tenant: string, kid: string) => Promise<Uint8Array>;
  /** Reads the keys again if they are in memory. Until this ends, the present ones are used. Returns whether the keys were read. */
  readonly refresh: (tenant: string) => Promise<boolean>;
  readonly forget: (tenant: string) => void;
};

/** Called with the result of decrypting the keys of a tenant: `error` is null if this succeeded. */
export type ReportKeys = (tenant: string, error: Error | null) => void;

const MAX_TENANTS = 1_000;
const RETRY_AFTER_SECONDS = 30;

/** The refusal of a request that needs a data key which cannot be decrypted. The event store itself works. */
export class DataKeyUnreadable extends Refusal {
  constructor() {
    const detail = "The tenant's data key cannot be decrypted: the operator must restore it, or the master key";
    super('unavailable', detail, { retryAfter: RETRY_AFTER_SECONDS });
  }
}

const isOfLog = (error: unknown): boolean => error instanceof LogError && error.kind !== 'damaged';

/** Keeps the decrypted keys of the most recently used tenants. */
export const createDataKeyCache = (log: Log, masters: MasterKeys, report: ReportKeys = () => {}): DataKeyCache => {
  const keysByTenant = createLruMap<string, Promise<DataKeys>>({ capacity: MAX_TENANTS });

  const load = async (tenant: string): Promise<DataKeys> => {
    try {
      const wrapped = await readWrappedKeys(log, tenant, DATA_KEY_ID);
      const keys = await unwrapKeys(masters, { tenant, id: DATA_KEY_ID }, wrapped);
      report(tenant, null);
      return keys;
    } catch (error) {
      if (isOfLog(error)) throw error;
      report(tenant, error as Error);
      throw new DataKeyUnreadable();
    }
  };

  const create = async (tenant: string): Promise<DataKeys> => [await createKey(log, masters, { tenant, id: DATA_KEY_ID })];

  const store = (tenant: string, keys: Promise<DataKeys>): Promise<DataKeys> => {
    keysByTenant.set(tenant, keys);
    // A failed load is not cached: the next call reads the log again.
    keys.catch(() => keysByTenant.peek(tenant) === keys && keysByTenant.delete(tenant));
    return keys;
  };

  const keysOf = (tenant: string): Promise<DataKeys> => keysByTenant.get(tenant) ?? store(tenant, load(tenant));

  return {
    newestDataKey: async (tenant) => (await keysOf(tenant)).at(-1) ?? (await store(tenant, create(tenant))).at(-1)!,
    dataKeyById: async (tenant, kid) => {
      const hasId = (named: NamedKey): boolean => named.kid === kid;
      const found = (await keysOf(tenant)).find(hasId) ?? (await store(tenant, load(tenant))).find(hasId);
      if (!found) throw new UnknownKey(tenant, kid);
      return found.key;
    },
    refresh: async (tenant) => {
      const before = keysByTenant.peek(tenant);
      if (!before) return false;
      const keys = await load(tenant).catch(() => null);
      // Do not cache keys that were dropped meanwhile, because the tenant was erased.
      if (keys && keysByTenant.peek(tenant) === before) keysByTenant.set(tenant, Promise.resolve(keys));
      return keys !== null;
    },
    forget: keysByTenant.delete,
  };
};
