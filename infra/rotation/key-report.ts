import { type Log, LogError } from '../eventstore/event-log.ts';
import { DATA_KEY_ID, readWrappedKeys, wrapperOf, wrapsOf } from '../vault/wrapped-keys.ts';
import { findKeyPlaces } from './rewrap-keys.ts';

/** `versions` is the number of keys; `created_at` is that of the newest one (RFC 3339 UTC). */
export type TenantKeys = { readonly tenant: string; readonly versions: number; readonly kid: string; readonly created_at: string };

/** `wrappers` has, by the id of a master key, how many keys it can decrypt. A key may be counted several times. */
export type KeyReport = {
  readonly keys: number;
  readonly wrappers: Readonly<Record<string, number>>;
  readonly tenants: readonly TenantKeys[];
};

const MAX_AGE_MS = 90 * 86_400_000;

/** Returns whether the newest data key of a tenant is older than 90 days. */
export const isDue = ({ created_at }: Pick<TenantKeys, 'created_at'>): boolean => Date.parse(created_at) < Date.now() - MAX_AGE_MS;

const ignoreErased = (error: unknown): [] => {
  if (error instanceof LogError && error.kind === 'gone') return [];
  throw error;
};

/** Reads all keys in the log, except keys of erased tenants. @throws LogError */
export const reportKeys = async (log: Log): Promise<KeyReport> => {
  const wrappers: Record<string, number> = {};
  const tenants: TenantKeys[] = [];
  let keys = 0;
  for (const { tenant, id } of await findKeyPlaces(log)) {
    const stored = await readWrappedKeys(log, tenant, id).catch(ignoreErased);
    keys += stored.length;
    for (const wrapper of stored.flatMap(wrapsOf).map(wrapperOf)) wrappers[wrapper] = (wrappers[wrapper] ?? 0) + 1;
    const newest = stored.at(-1);
    if (newest && id === DATA_KEY_ID) tenants.push({ tenant, versions: stored.length, kid: newest.kid, created_at: newest.created_at });
  }
  return { keys, wrappers, tenants };
};
