import { randomBytes, randomUUID } from 'node:crypto';
import { fold } from '../../domain/aggregate.ts';
import { PLATFORM, type Recorded, streamName } from '../../domain/event.ts';
import type { WrappedKey, WrappedKeyEvent, WrappedKeys } from '../../domain/wrapped-key.ts';
import * as Wrapped from '../../domain/wrapped-key.ts';
import { isConflict, type Log } from '../eventstore/event-log.ts';
import { decrypt, encrypt, type NamedKey } from './cipher.ts';
import type { MasterKeys } from './master-keys.ts';

/** The parts of the name of a stream that stores keys: the tenant and the id. */
export type KeyPlace = { readonly tenant: string; readonly id: string };

/** The oldest first. @throws LogError */
export const readKeyEvents = async (log: Log, { tenant, id }: KeyPlace): Promise<Recorded<WrappedKeyEvent>[]> =>
  (await Array.fromAsync(log.read(keyStream({ tenant, id })))) as Recorded<WrappedKeyEvent>[];

/** Returns the oldest first, encrypted with a master key ("wrapped"). Empty if the stream does not exist. @throws LogError */
export const readWrappedKeys = async (log: Log, tenant: string, id: string): Promise<WrappedKeys> =>
  fold(Wrapped, await readKeyEvents(log, { tenant, id }));

/** Returns all encrypted forms of a key, the newest first. */
export const wrapsOf = ({ wrapped, earlier }: WrappedKey): string[] => [wrapped, ...earlier.toReversed()];

export const wrapperOf = (wrapped: string): string => String(wrapped).split('.')[1] ?? '';

/** Returns whether the key was encrypted with a master key that is in memory. */
const hasKnownWrap = (masters: MasterKeys, key: WrappedKey): boolean => wrapsOf(key).some((wrapped) => masters.find(wrapperOf(wrapped)));

const tryDecrypt = (master: NamedKey | undefined, place: KeyPlace, kid: string, wrapped: string): Uint8Array | null => {
  try {
    return master ? decrypt(master.key, locationOf(place, kid), wrapped) : null;
  } catch {
    return null;
  }
};

/** @throws Error with a one-line message for the operator if no master key in memory fits, or the key is damaged */
const unwrapKnown = (masters: MasterKeys, place: KeyPlace, key: WrappedKey): NamedKey => {
  for (const wrapped of wrapsOf(key)) {
    const plain = tryDecrypt(masters.find(wrapperOf(wrapped)), place, key.kid, wrapped);
    if (plain) return { kid: key.kid, key: plain };
  }
  if (hasKnownWrap(masters, key))
    throw new Error(`the key ${key.kid} in ${keyStream(place)} is damaged: restore the event store from a backup`);
  const [wrapper] = wrapsOf(key).map(wrapperOf);
  throw new Error(`the master key (${masters.main().kid}) is not the one that encrypted this log's keys (${wrapper}): set MASTER_KEY_FILE`);
};

/**
 * Decrypts the keys of one stream. If a master key is not in memory, reads the files of the master keys again.
 * @throws Error with a one-line message for the operator if a key was encrypted with another master key, or is damaged
 */
export const unwrapKeys = async (masters: MasterKeys, place: KeyPlace, keys: WrappedKeys): Promise<NamedKey[]> => {
  if (!keys.every((key) => hasKnownWrap(masters, key))) await masters.reload();
  return keys.map((key) => unwrapKnown(masters, place, key));
};

export const wrapKey = (master: NamedKey, place: KeyPlace, { kid, key }: NamedKey): string => encrypt(master, locationOf(place, kid), key);

/** The stream of the platform's name key, which is the first key of a log. */
export const NAME_KEY: KeyPlace = { tenant: PLATFORM, id: 'name' };

/** Returns the oldest one that encrypts the name key: in a rotation, the new one is used alone only when every process knows it. */
const masterForNewKeys = async (log: Log, masters: MasterKeys): Promise<NamedKey> => {
  const [nameKey] = await readWrappedKeys(log, NAME_KEY.tenant, NAME_KEY.id);
  if (!nameKey) return masters.main();
  await unwrapKeys(masters, NAME_KEY, [nameKey]);
  const wrappers = wrapsOf(nameKey).map(wrapperOf).toReversed();
  return wrappers.map(masters.find).find((master) => master !== undefined)!;
};

/** Stores the key as the first event of its stream. If another process was faster, returns its key. @throws LogError */
export const createKey = async (log: Log, masters: MasterKeys, place: KeyPlace): Promise<NamedKey> => {
  const master = await masterForNewKeys(log, masters);
  const created = { kid: newKeyId(), key: randomBytes(32) };
  const type = place.tenant === PLATFORM && place.id !== DATA_KEY_ID ? 'PlatformKeyCreated' : 'DataKeyCreated';
  try {
    await log.append(keyStream(place), 'none', [
      { id: randomUUID(), type, data: { kid: created.kid, wrapped: wrapKey(master, place, created) }, meta: metadataOf(place) },
    ]);
    return created;
  } catch (error) {
    if (!isConflict(error)) throw error;
    return (await unwrapKeys(masters, place, await readWrappedKeys(log, place.tenant, place.id))).at(-1)!;
  }
};

/**
 * Encryption uses this key from then on. Does nothing if the key already exists.
 * @throws LogError gone if the tenant was erased, unavailable
 */
export const addDataKey = async (log: Log, masters: MasterKeys, tenant: string, kid: string): Promise<void> => {
  const place = { tenant, id: DATA_KEY_ID };
  const key = randomBytes(32);
  for (;;) {
    const master = await masterForNewKeys(log, masters);
    const events = await readKeyEvents(log, place);
    if (fold(Wrapped, events).some((stored) => stored.kid === kid)) return;
    const data = { kid, wrapped: wrapKey(master, place, { kid, key }) };
    try {
      await log.append(keyStream(place), events.at(-1)?.revision ?? 'none', [
        { id: randomUUID(), type: 'DataKeyCreated', data, meta: metadataOf(place) },
      ]);
      return;
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
};

export const newKeyId = (): string => randomBytes(6).toString('base64url');

/** The last part of the name of the stream that stores a tenant's data keys: `key-<tenant>.vault`. */
export const DATA_KEY_ID = 'vault';

export const dataKeyStream = (tenant: string): string => keyStream({ tenant, id: DATA_KEY_ID });

export const keyStream = ({ tenant, id }: KeyPlace): string => streamName(Wrapped.category, tenant, id);

const locationOf = ({ tenant, id }: KeyPlace, field: string) => ({ tenant, category: Wrapped.category, id, field });

export const metadataOf = ({ tenant }: KeyPlace) => ({
  tenant,
  actor: { kind: 'system', id: 'vault' } as const,
  at: new Date().toISOString(),
  v: 1,
});
