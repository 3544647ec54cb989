import type { Blobs, ReadableBlob, StoredBlob } from '../../commands/blobs.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Vault } from '../vault/vault.ts';
import type { BlobBackend, BlobName } from './blob-backend.ts';
import { SourceError, withDraft } from './blob-drafts.ts';
import { storeFailures } from './blob-failures.ts';
import { createBlobReader } from './blob-reader.ts';

const SHA256 = /^[0-9a-f]{64}$/;
const TENANT = /^[a-z0-9]{1,64}$/;

export type BlobStore = {
  readonly of: (tenant: string) => Blobs;
};

export type BlobStoreOptions = {
  readonly backend: BlobBackend;
  readonly vault: Pick<Vault, 'blobKey'>;
  /** The directory for files while they are being encrypted: on the same disk as the blobs, if these are in a directory. */
  readonly drafts: string;
  /** Called with the causes of refusals, such as an answer of the object store. */
  readonly report?: (cause: unknown) => void;
};

export const createBlobStore = (options: BlobStoreOptions): BlobStore => {
  const { backend, vault, drafts, report = () => {} } = options;
  const { opened, isIntact } = createBlobReader(options);
  const fail = storeFailures(report);

  async function* withRefusals(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* content;
    } catch (error) {
      fail(error);
    }
  }

  const put = async (tenant: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<StoredBlob> => {
    const key = await vault.blobKey(tenant);
    return withDraft(drafts, { key, tenant, content }, (draft) => {
      const name = { tenant, sha256: draft.sha256 };
      return backend.store(name, draft, () => isIntact(name));
    });
  };

  const get = async (name: BlobName): Promise<ReadableBlob | null> => {
    const blob = await opened(name).catch(fail);
    return blob && { size: blob.size, content: withRefusals(blob.content) };
  };

  const of = (tenant: string): Blobs => {
    if (!TENANT.test(tenant)) throw new Error(`not the id of a tenant: ${tenant}`);
    return {
      put: (content) =>
        put(tenant, content).catch((error: unknown) => {
          if (error instanceof SourceError) throw error.cause;
          return fail(error);
        }),
      get: async (sha256) => (SHA256.test(sha256) ? get({ tenant, sha256 }) : null),
      exists: async (sha256) => SHA256.test(sha256) && (await backend.sealedSizeOf({ tenant, sha256 }).catch(fail)) !== null,
    };
  };

  return { of };
};

const refuse = async (): Promise<never> => {
  throw new Refusal('not_configured', 'This platform has no file store: its operator must set BLOBS_URL');
};

/** The blob store of a process for which none is configured. Every function throws Refusal not_configured. */
export const withoutBlobStore: BlobStore = { of: () => ({ put: refuse, get: refuse, exists: refuse }) };
