import { randomBytes, randomUUID } from 'node:crypto';
import { fold } from '../../domain/aggregate.ts';
import { PLATFORM, type Recorded, streamName } from '../../domain/event.ts';
import type { WrappedKeyEvent, WrappedKeys } from '../../domain/wrapped-key.ts';
import * as Wrapped from '../../domain/wrapped-key.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';
import { decrypt, encrypt, type NamedKey } from './cipher.ts';

/** The wrapped keys that a key stream holds, oldest first; none where there is no such stream. @throws LogError */
export const readWrappedKeys = async (log: Log, tenant: string, id: string): Promise<WrappedKeys> =>
  fold(Wrapped, (await Array.fromAsync(log.read(streamOf(tenant, id)))) as Recorded<WrappedKeyEvent>[]);

/** Unwraps a key. @throws Error with one line for the operator where another master key wrapped it */
export const unwrapKey = (master: NamedKey, tenant: string, id: string, { kid, wrapped }: WrappedKeys[number]): NamedKey => {
  try {
    return { kid, key: decrypt(master.key, placeOf(tenant, id, kid), wrapped) };
  } catch {
    throw new Error(
      `the master key (${master.kid}) is not the one that wrapped this log's keys (${wrapped.split('.')[1]}): set MASTER_KEY_FILE`,
    );
  }
};

/** Makes the stream's first key. Where another process was faster it is that one's key: the append expects no stream. @throws LogError */
export const createKey = async (log: Log, master: NamedKey, tenant: string, id: string): Promise<NamedKey> => {
  const made = { kid: randomBytes(6).toString('base64url'), key: randomBytes(32) };
  const wrapped = encrypt(master, placeOf(tenant, id, made.kid), made.key);
  const type = tenant === PLATFORM && id !== DATA_KEY_ID ? 'PlatformKeyCreated' : 'DataKeyCreated';
  try {
    await log.append(streamOf(tenant, id), 'none', [{ id: randomUUID(), type, data: { kid: made.kid, wrapped }, meta: metadata(tenant) }]);
    return made;
  } catch (error) {
    if (!(error instanceof LogError) || error.kind !== 'conflict') throw error;
    return unwrapKey(master, tenant, id, (await readWrappedKeys(log, tenant, id)).at(-1)!);
  }
};

/** The id of a tenant's key stream: `key-<tenant>.vault`. */
export const DATA_KEY_ID = 'vault';

const streamOf = (tenant: string, id: string): string => streamName(Wrapped.category, tenant, id);

const placeOf = (tenant: string, id: string, field: string) => ({ tenant, category: Wrapped.category, id, field });

const metadata = (tenant: string) => ({ tenant, actor: { kind: 'system', id: 'vault' } as const, at: new Date().toISOString(), v: 1 });
