import type { Log } from '../eventstore/event-log.ts';
import { createLruMap } from '../lru-map.ts';
import type { NamedKey } from './cipher.ts';
import { createKey, DATA_KEY_ID, readWrappedKeys, unwrapKey } from './wrapped-keys.ts';

type Ring = readonly NamedKey[];

const CAPACITY = 1_000;

/** The tenants' data keys, unwrapped; those used last stay in memory. */
export const tenantKeyCache = (log: Log, master: NamedKey) => {
  const rings = createLruMap<string, Promise<Ring>>({ capacity: CAPACITY });

  const load = async (tenant: string): Promise<Ring> =>
    (await readWrappedKeys(log, tenant, DATA_KEY_ID)).map((wrapped) => unwrapKey(master, tenant, DATA_KEY_ID, wrapped));

  const keep = (tenant: string, ring: Promise<Ring>): Promise<Ring> => {
    rings.set(tenant, ring);
    ring.catch(() => rings.peek(tenant) === ring && rings.delete(tenant));
    return ring;
  };

  const ringOf = (tenant: string): Promise<Ring> => keep(tenant, rings.get(tenant) ?? load(tenant));

  return {
    /** The key that seals: the newest one, made where there is none yet. */
    sealing: async (tenant: string): Promise<NamedKey> => {
      const newest = (await ringOf(tenant)).at(-1);
      if (newest) return newest;
      return (
        await keep(
          tenant,
          createKey(log, master, tenant, DATA_KEY_ID).then((key) => [key]),
        )
      ).at(-1)!;
    },
    /** The key of that name; looked for in the log once more before it counts as missing. */
    opening: async (tenant: string, kid: string): Promise<Uint8Array> => {
      const named = ({ kid: name }: NamedKey) => name === kid;
      const found = (await ringOf(tenant)).find(named) ?? (await keep(tenant, load(tenant))).find(named);
      if (!found) throw new Error(`tenant ${tenant} has no key ${kid}`);
      return found.key;
    },
  };
};
