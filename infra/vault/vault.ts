import { createHmac } from 'node:crypto';
import type { SealedText, SecretLocation } from '../../commands/context.ts';
import { PLATFORM } from '../../domain/event.ts';
import { type Secret, secret } from '../../domain/secret.ts';
import type { WrappedKeys } from '../../domain/wrapped-key.ts';
import type { Log } from '../eventstore/event-log.ts';
import { decrypt, encrypt, kidOf, type NamedKey } from './cipher.ts';
import { loadMasterKey } from './master-key.ts';
import { tenantKeyCache } from './tenant-keys.ts';
import { uniqueId } from './unique-id.ts';
import { createKey, readWrappedKeys, unwrapKey } from './wrapped-keys.ts';

/** What keeps secrets, and makes the names and digests that need a key. */
export type Vault = {
  /** Encrypts under the tenant's data key (made at its first secret), bound to the place. @throws LogError */
  seal: (place: SecretLocation, plain: Secret) => Promise<SealedText>;
  /** Decrypts what was sealed for this place. @throws Error where it was altered or belongs elsewhere; LogError gone after erasure */
  open: (place: SecretLocation, sealed: SealedText) => Promise<Secret>;
  /** The id25 of what has a natural key; the same everywhere on this log, unguessable without the name key. */
  uniqueId: (kind: string, tenant: string, key: string, generation?: number) => string;
  /** HMAC-SHA-256 under the platform's pepper, hex. */
  digest: (text: string) => string;
};

/** Opens the vault of a log, making at its first start what it needs. @throws Error with one line for the operator */
export const openVault = async ({ log, masterKeyFile }: { log: Log; masterKeyFile: string }): Promise<Vault> => {
  const [names, peppers] = await Promise.all([readWrappedKeys(log, PLATFORM, 'name'), readWrappedKeys(log, PLATFORM, 'pepper')]);
  const master = await loadMasterKey(masterKeyFile, names.length + peppers.length === 0);
  const nameKey = await platformKey(log, master, 'name', names);
  const pepper = await platformKey(log, master, 'pepper', peppers);
  const rings = tenantKeyCache(log, master);
  return {
    seal: async (place, plain) => encrypt(await rings.sealing(place.tenant), place, Buffer.from(plain.reveal())),
    open: async (place, sealed) => secret(decrypt(await rings.opening(place.tenant, kidOf(sealed)), place, sealed).toString()),
    uniqueId: (kind, tenant, key, generation = 0) => uniqueId(nameKey.key, kind, tenant, key, generation),
    digest: (text) => createHmac('sha256', pepper.key).update(text).digest('hex'),
  };
};

const platformKey = async (log: Log, master: NamedKey, id: string, stored: WrappedKeys): Promise<NamedKey> =>
  stored.length > 0 ? unwrapKey(master, PLATFORM, id, stored[0]!) : createKey(log, master, PLATFORM, id);
