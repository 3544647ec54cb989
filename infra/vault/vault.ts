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

/** The ids and digests cannot be computed without a key. */
export type Vault = SealedEvents & {
  readonly contentKey: ContentKeys;
  /**
   * Encrypts a secret with the tenant's data key. If the tenant has no data key yet, creates one. The result can be
   * decrypted only for the same location.
   * @throws LogError @throws Refusal unavailable if the data key cannot be decrypted
   */
  readonly seal: (location: SecretLocation, plain: Secret) => Promise<SealedText>;
  /**
   * @throws Error if the text was changed or encrypted for another location
   * @throws LogError gone if the tenant was erased
   * @throws Refusal unavailable if the data key cannot be decrypted
   */
  readonly open: (location: SecretLocation, sealed: SealedText) => Promise<Secret>;
  /**
   * A key for contents too large to be encrypted as a text, derived from the data key `kid` or, by default, the newest one, which is
   * created if the tenant has none.
   * @throws LogError gone if the tenant was erased, Error if the key does not exist
   */
  readonly blobKey: (tenant: string, kid?: string) => Promise<NamedKey>;
  /** Derives an id25. All processes with this log derive the same; it cannot be predicted without the platform's secret name key. */
  readonly uniqueId: (kind: string, tenant: string, key: string, generation?: number) => string;
  /** The keys for deliveries in the spool of this machine. They are available even if the log is not. */
  readonly spoolKeys: SpoolKeys;
  /** The master keys that can decrypt the keys of this log, as far as this process knows. See `watchKeys`. */
  readonly masterKeyIds: () => readonly string[];
  /** A new data key or master key is used within a second; the keys of an erased tenant are dropped. @throws LogError unavailable */
  readonly watchKeys: () => Promise<Subscription>;
  /** Called when the data keys of an erased tenant are dropped: drop everything that was decrypted with them. */
  readonly onErased: (drop: () => void) => void;
  /** If the data keys of a tenant are in memory, reads them again, so that a new key is used at once. */
  readonly refreshDataKeys: (tenant: string) => Promise<void>;
  /**
   * Tombstones the stream of data keys, and removes them from this process. Does nothing if they are already destroyed.
   * @throws LogError unavailable
   */
  readonly destroyDataKeys: (tenant: string) => Promise<void>;
  /** Returns the HMAC-SHA-256 of a text in hex; the HMAC key is a secret of the platform (the pepper). */
  readonly digest: (text: string) => string;
};

/** `key` encrypts new data. Those in `older` only decrypt; earlier versions of Annals derived them from the master key. */
export type SpoolKeys = { readonly key: NamedKey; readonly older: readonly NamedKey[] };

export type VaultParts = {
  readonly log: Log;
  readonly masterKeyFile: string;
  /** Called when the data keys of a tenant cannot be decrypted, and when they can be decrypted again. */
  readonly reportKeys?: ReportKeys;
};

/**
 * Creates the platform's keys if `log` has none, and then the master key if its file is missing.
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
/** Every log of a platform that was started contains them. */
const PLATFORM_KEYS = [NAME_KEY, PEPPER];

const platformKey = async (log: Log, masters: MasterKeys, place: KeyPlace): Promise<NamedKey> => {
  const stored = await readWrappedKeys(log, place.tenant, place.id);
  return stored.length > 0 ? (await unwrapKeys(masters, place, stored))[0]! : createKey(log, masters, place);
};

const masterKeyIdsIn = async (log: Log): Promise<string[]> =>
  (await readWrappedKeys(log, NAME_KEY.tenant, NAME_KEY.id)).flatMap(wrapsOf).map(wrapperOf);

/** Earlier versions of Annals encrypted deliveries in the spool with it. */
const formerSpoolKey = ({ kid, key }: NamedKey): NamedKey => ({
  kid,
  key: new Uint8Array(hkdfSync('sha256', key, '', lengthPrefixed('annals local', 'spool'), 32)),
});
