import type { Vault } from '../vault/vault.ts';
import type { StoredEntry } from './blob-backend.ts';
import { withDraft } from './blob-drafts.ts';
import { createBlobReader } from './blob-reader.ts';
import type { BlobPlace } from './open-blob-store.ts';
import { BlobDamaged, HEADER_BYTES, kidOfHeader } from './sealed-blob.ts';

export type ResealOptions = BlobPlace & {
  readonly vault: Pick<Vault, 'blobKey'>;
  /** Called before each blob that is to be encrypted again. */
  readonly onReseal?: (count: number) => void | Promise<void>;
  /** Called with a message about each damaged blob, which is not changed. */
  readonly onDamaged?: (message: string) => void;
};

/**
 * Encrypts blobs again whose data key is not the tenant's newest. Requests can read them meanwhile. Returns their number.
 * @throws LogError, and the errors of the backend
 */
export const resealTenantBlobs = async (options: ResealOptions, tenant: string): Promise<number> => {
  const { backend, drafts, vault, onReseal = () => {}, onDamaged = () => {} } = options;
  const { opened } = createBlobReader(options);
  const key = await vault.blobKey(tenant);
  let count = 0;

  const reseal = async ({ sha256 }: StoredEntry): Promise<void> => {
    const name = { tenant, sha256 };
    const sealed = await backend.read(name, HEADER_BYTES);
    if (!sealed || kidOfHeader(name, sealed.head) === key.kid) return;
    const blob = await opened(name);
    if (!blob) return;
    await onReseal(count);
    await withDraft(drafts, { key, tenant, content: blob.content }, (draft) => backend.replace(name, draft));
    count += 1;
  };

  for await (const entry of backend.list(tenant))
    await reseal(entry).catch((error: Error) => {
      const reason = error.cause ?? error;
      if (!(reason instanceof BlobDamaged)) throw reason;
      onDamaged(reason.message);
    });
  return count;
};
