import type { Actor } from '../../domain/event.ts';
import * as KeyRotation from '../../domain/operations/key-rotation.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { BlobPlace } from '../blobs/open-blob-store.ts';
import { resealTenantBlobs } from '../blobs/reseal-blobs.ts';
import { LogError } from '../eventstore/event-log.ts';
import { openMasterKeys } from '../vault/master-keys.ts';
import type { Vault } from '../vault/vault.ts';
import { addDataKey, DATA_KEY_ID, newKeyId, readWrappedKeys } from '../vault/wrapped-keys.ts';
import { resealSecrets } from './reseal-secrets.ts';
import type { RotationRecord } from './rotation-record.ts';

export type DataKeyRotationParts = {
  readonly record: RotationRecord;
  readonly masterKeyFile: string;
  readonly vault: Pick<Vault, 'blobKey' | 'refreshDataKeys' | 'open' | 'seal'>;
  /** Null if no file store is configured. */
  readonly blobs: BlobPlace | null;
  readonly actor: Actor;
  /** Called with the name of each change before it is made. */
  readonly onStep?: (step: string) => void | Promise<void>;
  /** Called with a line for the operator. */
  readonly onProgress?: (line: string) => void;
};

/** Returns the id of the new key. @throws LogError gone if the tenant was erased, Error if it has no data key */
export const startDataKeyRotation = async ({ record, actor }: DataKeyRotationParts, tenant: string): Promise<string> => {
  if ((await readWrappedKeys(record.log, tenant, DATA_KEY_ID)).length === 0)
    throw new Error(`there is no data key of ${tenant}: nothing of it is encrypted yet, or there is no such tenant`);
  const { data_keys } = await record.transact(KeyRotation.startDataKeyRotation(tenant, newKeyId()), actor);
  return data_keys[tenant]!;
};

const resealFiles = async (parts: DataKeyRotationParts, tenant: string): Promise<number> => {
  const { blobs, vault, onStep = () => {}, onProgress = () => {} } = parts;
  if (!blobs) return 0;
  const onReseal = async (count: number): Promise<void> => {
    if (count > 0 && count % 100 === 0) onProgress(`${count} files were encrypted again`);
    await onStep('encrypt a file again');
  };
  return resealTenantBlobs({ ...blobs, vault, onReseal, onDamaged: (message) => onProgress(`left as it is: ${message}`) }, tenant);
};

export type Resealed = { readonly files: number; readonly secrets: number };

const replace = async (parts: DataKeyRotationParts, tenant: string, kid: string): Promise<Resealed> => {
  const { record, masterKeyFile, vault, actor, onStep = () => {}, onProgress = () => {} } = parts;
  await onStep('create the data key');
  await addDataKey(record.log, await openMasterKeys(masterKeyFile, false), tenant, kid);
  await vault.refreshDataKeys(tenant);
  const onSecret = () => onStep('encrypt a secret again');
  const secrets = await resealSecrets({ log: record.log, vault, actor, onSecret, onProgress }, tenant, kid);
  return { secrets, files: await resealFiles(parts, tenant) };
};

/** True if a stream of the tenant was deleted, or its data key destroyed. */
const isErased = (error: unknown): boolean =>
  error instanceof Refusal ? error.code === 'not_found' : error instanceof LogError && error.kind === 'gone';

/**
 * Creates the key `kid`, with which everything is encrypted from then on, and encrypts present secrets and files again. Each step can be
 * repeated, even after a kill. Returns the numbers of files and secrets; null if the tenant was erased.
 * @throws LogError, Error with a one-line message for the operator
 */
export const continueDataKeyRotation = async (parts: DataKeyRotationParts, tenant: string, kid: string): Promise<Resealed | null> => {
  const { record, actor, onStep = () => {} } = parts;
  const resealed = await replace(parts, tenant, kid).catch((error: unknown) => {
    if (isErased(error)) return null;
    throw error;
  });
  await onStep('record the end');
  await record.transact(KeyRotation.completeDataKeyRotation(tenant, kid, resealed ?? { files: 0, secrets: 0 }), actor);
  return resealed;
};
