import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Blobs, ReadableBlob, StoredBlob } from '../../commands/blobs.ts';
import { Refusal } from '../../domain/refusal.ts';
import { isDiskFull } from '../durable-files.ts';
import { LogError } from '../eventstore/event-log.ts';
import type { Vault } from '../vault/vault.ts';
import type { BlobBackend, BlobDraft, BlobName } from './blob-backend.ts';
import { makeDurableDirectory } from './blob-directory.ts';
import * as Sealed from './sealed-blob.ts';

/** Files below this directory are not yet stored under their name. */
export const DRAFTS = 'drafts';

const SHA256 = /^[0-9a-f]{64}$/;
const TENANT = /^[a-z0-9]{1,64}$/;
const HEAD_BYTES = Sealed.HEADER_BYTES + Sealed.SEALED_CHUNK_BYTES;

/** The contents of all tenants. */
export type BlobStore = {
  /** The contents of one tenant. */
  readonly of: (tenant: string) => Blobs;
};

export type BlobStoreOptions = {
  readonly backend: BlobBackend;
  readonly vault: Pick<Vault, 'blobKey'>;
  /** The directory of the files that are being sealed. For a store in a directory, on the same disk as that one. */
  readonly drafts: string;
};

const STORE_FULL = 'The file store is full: try again later';

/** The codes of the errors with which the system refuses access to a file or directory, or reports a broken disk. */
const UNUSABLE = new Set(['EACCES', 'EPERM', 'EROFS', 'EIO', 'ENOTDIR', 'EMFILE', 'ENFILE', 'ESTALE']);

/** Turns an error of the disk into a refusal, and throws any other error unchanged. */
const throwDiskError = (error: unknown): never => {
  if (isDiskFull(error)) throw new Refusal('unavailable', STORE_FULL, { retryAfter: 30 });
  if (UNUSABLE.has(String((error as NodeJS.ErrnoException).code)))
    throw new Refusal('unavailable', 'The file store cannot be used at the moment: try again', { retryAfter: 5 });
  throw error;
};

const writeFully = async (file: FileHandle, bytes: Buffer, at: number): Promise<void> => {
  for (let done = 0; done < bytes.length; ) done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
};

type Draft = BlobDraft & StoredBlob;

/** An error of a content's source, which is not an error of the store. */
class SourceError extends Error {}

async function* fromSource(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    throw new SourceError('the content cannot be read', { cause: error });
  }
}

async function* withRefusals(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    throwDiskError(error);
  }
}

/** Creates the store of all tenants' contents. Every content is sealed with a key of its tenant. */
export const createBlobStore = ({ backend, vault, drafts }: BlobStoreOptions): BlobStore => {
  const writeDraft = async (tenant: string, path: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<Draft> => {
    await using file = await open(path, 'wx', 0o600);
    const key = await vault.blobKey(tenant);
    const source = content instanceof Uint8Array ? [content] : fromSource(content);
    const { header, sha256, size } = await Sealed.sealBlob(key, tenant, source, async (parts, at) => {
      await writeFully(file, Buffer.concat(parts), at);
    });
    await writeFully(file, header, 0);
    return { path, sha256, size, sealedSize: Sealed.sealedSizeOf(size) };
  };

  const keyOf = async (name: BlobName, kid: string): Promise<Uint8Array> => {
    try {
      return (await vault.blobKey(name.tenant, kid)).key;
    } catch (error) {
      if (error instanceof LogError) throw error;
      throw new Sealed.BlobDamaged(name, 'its tenant has no key of the id in its header');
    }
  };

  const opened = async (name: BlobName): Promise<ReadableBlob | null> => {
    const sealed = await backend.read(name, HEAD_BYTES);
    if (!sealed) return null;
    const key = await keyOf(name, Sealed.kidOfHeader(name, sealed.head));
    const header = Sealed.openHeader(name, key, sealed.head, sealed.sealedSize);
    const content = async function* (): AsyncGenerator<Uint8Array> {
      yield sealed.head.subarray(Sealed.HEADER_BYTES);
      if (sealed.head.length < sealed.sealedSize) yield* sealed.rest();
    };
    return { size: header.size, content: withRefusals(Sealed.openBlob(header, content())) };
  };

  const isIntact = async (name: BlobName): Promise<boolean> => {
    try {
      const blob = await opened(name);
      if (!blob) return false;
      for await (const _ of blob.content);
      return true;
    } catch (error) {
      if (error instanceof Sealed.BlobDamaged) return false;
      throw error;
    }
  };

  const put = async (tenant: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<StoredBlob> => {
    const path = join(drafts, randomBytes(12).toString('hex'));
    try {
      await makeDurableDirectory(drafts);
      const draft = await writeDraft(tenant, path, content);
      const name = { tenant, sha256: draft.sha256 };
      await backend.store(name, draft, () => isIntact(name));
      return { sha256: draft.sha256, size: draft.size };
    } finally {
      await rm(path, { force: true });
    }
  };

  const of = (tenant: string): Blobs => {
    if (!TENANT.test(tenant)) throw new Error(`not the id of a tenant: ${tenant}`);
    return {
      put: (content) =>
        put(tenant, content).catch((error: unknown) => {
          if (error instanceof SourceError) throw error.cause;
          return throwDiskError(error);
        }),
      get: async (sha256) => (SHA256.test(sha256) ? opened({ tenant, sha256 }).catch(throwDiskError) : null),
      exists: async (sha256) => SHA256.test(sha256) && (await backend.sealedSizeOf({ tenant, sha256 }).catch(throwDiskError)) !== null,
    };
  };

  return { of };
};
