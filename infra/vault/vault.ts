import { createHmac, hkdfSync } from 'node:crypto';
import type { SealedText, SecretLocation } from '../../commands/context.ts';
import { PLATFORM } from '../../domain/event.ts';
import { type Secret, secret } from '../../domain/secret.ts';
import type { Log, Subscription } from '../eventstore/event-log.ts';
import { decrypt, encrypt, kidOf, lengthPrefixed, type NamedKey } from './cipher.ts';
import { type ContentKeys, createContentKeys } from './content-keys.ts';
import { createDataKeyCache, type ReportKeys } from './data-key-cache.ts';
import { type MasterKeys, openMasterKeys } from './master-keys.ts';
import { createSealedEvents, type SealedEvents } from './sealed-events.ts';
import { createUniqueIds } from './unique-id.ts';
import { watchKeys } from './watch-keys.ts';
import { createKey, dataKeyStream, type KeyPlace, NAME_KEY, readWrappedKeys, unwrapKeys, wrapperOf, wrapsOf } from './wrapped-keys.ts';

/** Encrypts secrets, and derives ids and digests that cannot be computed without a key. */
export type Vault = SealedEvents & {
  /** Returns the key that encrypts the contents of a tenant's events. See `ContentKeys`. */
  readonly contentKey: ContentKeys;
  /**
   * Encrypts a secret with the tenant's data key. If the tenant has no data key yet, creates one. The result can be
   * decrypted only for the same location.
   * @throws LogError @throws Refusal unavailable if the data key cannot be decrypted
   */
  readonly seal: (location: SecretLocation, plain: Secret) => Promise<SealedText>;
  /**
   * Decrypts an encrypted text.
   * @throws Error if the text was changed or encrypted for another location
   * @throws LogError gone if the tenant was erased
   * @throws Refusal unavailable if the data key cannot be decrypted
   */
  readonly open: (location: SecretLocation, sealed: SealedText) => Promise<Secret>;
  /**
   * Returns a key for blobs, which are contents that are too large to be encrypted as a text. The key is derived from
   * the tenant's data key with the id `kid` or, if absent, from the newest one. If the tenant has no data key yet, one
   * is created.
   * @throws LogError gone if the tenant was erased
   * @throws Error if the key does not exist
   */
  readonly blobKey: (tenant: string, kid?: string) => Promise<NamedKey>;
  /**
   * Derives a resource's id (id25) from its unique key. All processes that use this log derive the same id. The id
   * cannot be predicted without the platform's secret name key.
   */
  readonly uniqueId: (kind: string, tenant: string, key: string, generation?: number) => string;
  /** The keys for deliveries in the spool of this machine. They are available even if the log is not. */
  readonly spoolKeys: SpoolKeys;
  /**
   * Returns the ids of the master keys that can decrypt the keys of this log, as far as this process knows. See
   * `watchKeys`.
   */
  readonly masterKeyIds: () => readonly string[];
  /**
   * Follows the log until `stop` is called. So a new data key or a new master key is used within a second. The data
   * keys of a tenant that is erased are dropped from memory.
   * @throws LogError unavailable
   */
  readonly watchKeys: () => Promise<Subscription>;
  /**
   * Registers a function that is called when the data keys of a tenant are dropped from memory because the tenant is
   * erased. The function must drop everything that was decrypted with them.
   */
  readonly onErased: (drop: () => void) => void;
  /** If the data keys of a tenant are in memory, reads them again, so that a new key is used at once. */
  readonly refreshDataKeys: (tenant: string) => Promise<void>;
  /**
   * Destroys all data keys of a tenant: tombstones the stream that contains them, and removes them from the memory of
   * this process. Does nothing if they are already destroyed.
   * @throws LogError unavailable
   */
  readonly destroyDataKeys: (tenant: string) => Promise<void>;
  /** Returns the HMAC-SHA-256 of a text in hex; the HMAC key is a secret of the platform (the pepper). */
  readonly digest: (text: string) => string;
};

/**
 * New data are encrypted with `key`. The keys in `older` only decrypt earlier data; earlier versions of Annals derived
 * them from the master key.
 */
export type SpoolKeys = { readonly key: NamedKey; readonly older: readonly NamedKey[] };

export type VaultParts = {
  readonly log: Log;
  readonly masterKeyFile: string;
  /** Called when the data keys of a tenant cannot be decrypted, and when they can be decrypted again. */
  readonly reportKeys?: ReportKeys;
};

/**
 * Opens the vault, whose keys are stored in `log`. If the log has no platform keys yet, they are created, and so is the
 * master key if its file does not exist.
 * @throws Error with a one-line message for the operator
 */
export const openVault = async ({ log, masterKeyFile, reportKeys }: VaultParts): Promise<Vault> => {
  const isNew = (await Promise.all(PLATFORM_KEYS.map(({ tenant, id }) => readWrappedKeys(log, tenant, id)))).flat().length === 0;
  const masters = await openMasterKeys(masterKeyFile, isNew);
  const nameKey = await platformKey(log, masters, NAME_KEY);
  const pepper = await platformKey(log, masters, PEPPER);
  const spoolKey = await platformKey(log, masters, SPOOL_KEY);
  let masterKeyIds = await masterKeyIdsIn(log);
  const dataKeys = createDataKeyCache(log, masters, reportKeys);
  const { newestDataKey, dataKeyById } = dataKeys;
  const contentKey = createContentKeys(dataKeys);
  const idOf = createUniqueIds(nameKey.key);
  const refreshDataKeys = async (tenant: string): Promise<void> => {
    if (await dataKeys.refresh(tenant)) await contentKey.refresh(tenant);
  };
  const dropDecrypted: (() => void)[] = [contentKey.forgetAll];
  const forgetDataKeys = (tenant: string): void => {
    dataKeys.forget(tenant);
    for (const drop of dropDecrypted) drop();
  };
  return {
    contentKey,
    ...createSealedEvents(contentKey),
    seal: async (location, plain) => encrypt(await newestDataKey(location.tenant), location, Buffer.from(plain.reveal())),
    open: async (location, sealed) => secret(decrypt(await dataKeyById(location.tenant, kidOf(sealed)), location, sealed).toString()),
    blobKey: async (tenant, kid) => {
      const dataKey = kid === undefined ? await newestDataKey(tenant) : { kid, key: await dataKeyById(tenant, kid) };
      return { kid: dataKey.kid, key: new Uint8Array(hkdfSync('sha256', dataKey.key, '', lengthPrefixed('annals blobs', tenant), 32)) };
    },
    onErased: (drop) => void dropDecrypted.push(drop),
    refreshDataKeys,
    destroyDataKeys: async (tenant) => {
      await log.tombstone(dataKeyStream(tenant));
      forgetDataKeys(tenant);
    },
    spoolKeys: { key: spoolKey, older: masters.all().map(formerSpoolKey) },
    masterKeyIds: () => masterKeyIds,
    watchKeys: () =>
      watchKeys(log, {
        onDataKey: refreshDataKeys,
        onErased: forgetDataKeys,
        onRewrapped: async () => {
          await masters.reload();
          masterKeyIds = await masterKeyIdsIn(log);
        },
      }),
    uniqueId: (kind, tenant, key, generation = 0) => idOf(kind, tenant, key, generation),
    digest: (text) => createHmac('sha256', pepper.key).update(text).digest('hex'),
  };
};

const PEPPER: KeyPlace = { tenant: PLATFORM, id: 'pepper' };
const SPOOL_KEY: KeyPlace = { tenant: PLATFORM, id: 'spool' };
/** The keys of the platform. Every log of a platform that was started contains them. */
const PLATFORM_KEYS = [NAME_KEY, PEPPER];

const platformKey = async (log: Log, masters: MasterKeys, place: KeyPlace): Promise<NamedKey> => {
  const stored = await readWrappedKeys(log, place.tenant, place.id);
  return stored.length > 0 ? (await unwrapKeys(masters, place, stored))[0]! : createKey(log, masters, place);
};

const masterKeyIdsIn = async (log: Log): Promise<string[]> =>
  (await readWrappedKeys(log, NAME_KEY.tenant, NAME_KEY.id)).flatMap(wrapsOf).map(wrapperOf);

/** Returns the key with which earlier versions of Annals encrypted the deliveries in the spool. */
const formerSpoolKey = ({ kid, key }: NamedKey): NamedKey => ({
  kid,
  key: new Uint8Array(hkdfSync('sha256', key, '', lengthPrefixed('annals local', 'spool'), 32)),
});
