import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { createLruMap } from '../lru-map.ts';
import { lengthPrefixed, type NamedKey } from './cipher.ts';
import type { DataKeyCache } from './data-key-cache.ts';

/** A key that encrypts the contents of a tenant's events. `kid` is the id of the data key from which it is derived. */
export type ContentKey = { readonly kid: string; readonly key: KeyObject };

/**
 * The key is derived from the data key `kid` or, by default, from the newest one, which is created if the tenant has none. Returns a
 * promise only if the key is not in memory.
 * @throws Refusal unavailable if the data key cannot be decrypted; LogError gone if the tenant was erased, unavailable
 */
export type ContentKeys = (tenant: string, kid?: string) => ContentKey | Promise<ContentKey>;

/**
 * The content keys in memory. `forgetAll` removes the keys of all tenants, which are derived again when they are
 * needed. `refresh` derives the key of a tenant again from the tenant's newest data key, if the key is in memory.
 */
export type ContentKeyCache = ContentKeys & { readonly forgetAll: () => void; readonly refresh: (tenant: string) => Promise<void> };

const MAX_KEYS = 20_000;

/** Derives a separate key for contents. So contents and secrets are never encrypted with the same key. */
const derive = (tenant: string, { kid, key }: NamedKey): ContentKey => ({
  kid,
  key: createSecretKey(Buffer.from(hkdfSync('sha256', key, '', lengthPrefixed('annals contents', tenant), 32))),
});

/** Keeps the most recently used keys in memory. */
export const createContentKeys = ({ newestDataKey, dataKeyById }: Pick<DataKeyCache, 'newestDataKey' | 'dataKeyById'>): ContentKeyCache => {
  const cached = createLruMap<string, ContentKey>({ capacity: MAX_KEYS });
  // How often keys were dropped: a key that was being loaded then may be one of them, and is not kept.
  let drops = 0;

  const load = async (name: string, tenant: string, kid: string | undefined): Promise<ContentKey> => {
    const dropsBefore = drops;
    const dataKey = kid === undefined ? await newestDataKey(tenant) : { kid, key: await dataKeyById(tenant, kid) };
    const loaded = derive(tenant, dataKey);
    if (drops === dropsBefore) cached.set(name, loaded);
    return loaded;
  };

  const contentKey: ContentKeys = (tenant, kid) => {
    const name = kid === undefined ? tenant : `${tenant}.${kid}`;
    return cached.get(name) ?? load(name, tenant, kid);
  };
  const refresh = async (tenant: string): Promise<void> => {
    if (cached.peek(tenant)) await load(tenant, tenant, undefined);
  };
  const forgetAll = (): void => {
    drops += 1;
    cached.clear();
  };
  return Object.assign(contentKey, { forgetAll, refresh });
};
