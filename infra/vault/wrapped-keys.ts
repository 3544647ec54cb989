import { randomBytes, randomUUID } from 'node:crypto';
import { fold } from '../../domain/aggregate.ts';
import { PLATFORM, type Recorded, streamName } from '../../domain/event.ts';
import type { WrappedKeyEvent, WrappedKeys } from '../../domain/wrapped-key.ts';
import * as Wrapped from '../../domain/wrapped-key.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';
import { decrypt, encrypt, type NamedKey } from './cipher.ts';

/**
 * Reads the keys that a stream stores, oldest first. They are wrapped: encrypted with the master key. Returns an empty
 * list if the stream does not exist.
 * @throws LogError
 */
export const readWrappedKeys = async (log: Log, tenant: string, id: string): Promise<WrappedKeys> =>
  fold(Wrapped, (await Array.fromAsync(log.read(streamOf(tenant, id)))) as Recorded<WrappedKeyEvent>[]);

/**
 * Decrypts a tenant's data key, or a key of the platform, with the master key.
 * @throws Error with a one-line message for the operator if another master key encrypted it, or if it is damaged
 */
export const unwrapKey = (master: NamedKey, tenant: string, id: string, { kid, wrapped }: WrappedKeys[number]): NamedKey => {
  try {
    return { kid, key: decrypt(master.key, locationOf(tenant, id, kid), wrapped) };
  } catch {
    const wrapper = String(wrapped).split('.')[1];
    if (wrapper === master.kid)
      throw new Error(`the key ${kid} in ${streamOf(tenant, id)} is damaged: restore the event store from a backup`);
    throw new Error(`the master key (${master.kid}) is not the one that wrapped this log's keys (${wrapper}): set MASTER_KEY_FILE`);
  }
};

/**
 * Creates a key and stores it, wrapped, as the first event of its stream. If another process has created the stream in
 * the meantime, returns the key of that process.
 * @throws LogError
 */
export const createKey = async (log: Log, master: NamedKey, tenant: string, id: string): Promise<NamedKey> => {
  const created = { kid: randomBytes(6).toString('base64url'), key: randomBytes(32) };
  const wrapped = encrypt(master, locationOf(tenant, id, created.kid), created.key);
  const type = tenant === PLATFORM && id !== DATA_KEY_ID ? 'PlatformKeyCreated' : 'DataKeyCreated';
  try {
    await log.append(streamOf(tenant, id), 'none', [
      { id: randomUUID(), type, data: { kid: created.kid, wrapped }, meta: metadataOf(tenant) },
    ]);
    return created;
  } catch (error) {
    if (!(error instanceof LogError) || error.kind !== 'conflict') throw error;
    return unwrapKey(master, tenant, id, (await readWrappedKeys(log, tenant, id)).at(-1)!);
  }
};

/** The last part of the name of the stream that stores a tenant's data keys: `key-<tenant>.vault`. */
export const DATA_KEY_ID = 'vault';

/** The name of the stream that stores a tenant's data keys. */
export const dataKeyStream = (tenant: string): string => streamOf(tenant, DATA_KEY_ID);

const streamOf = (tenant: string, id: string): string => streamName(Wrapped.category, tenant, id);

const locationOf = (tenant: string, id: string, field: string) => ({ tenant, category: Wrapped.category, id, field });

const metadataOf = (tenant: string) => ({ tenant, actor: { kind: 'system', id: 'vault' } as const, at: new Date().toISOString(), v: 1 });
