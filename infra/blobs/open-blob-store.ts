import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Vault } from '../vault/vault.ts';
import { type BlobBackend, DRAFTS } from './blob-backend.ts';
import { openBlobDirectory } from './blob-directory.ts';
import { blobDirectoryOf, defaultBlobsUrl, parseBlobsUrl } from './blob-location.ts';
import { type BlobStore, createBlobStore, withoutBlobStore } from './blob-store.ts';

export type BlobConfig = { readonly blobsUrl?: string | undefined; readonly annalsData: string };

/**
 * Returns the URL of the place where a platform stores blobs: BLOBS_URL or, if that is not set, the directory for blobs
 * in the data directory, if it exists. `annals start` creates this directory; `annals serve` does not, because its
 * processes may run on several machines, which would not see each other's files.
 * @returns undefined if there is no such place
 */
export const findBlobsUrl = ({ blobsUrl, annalsData }: BlobConfig): string | undefined =>
  blobsUrl ?? (existsSync(blobDirectoryOf(annalsData)) ? defaultBlobsUrl(annalsData) : undefined);

/** A place where blobs are stored, and the local directory for files while they are being encrypted. */
export type BlobPlace = { readonly backend: BlobBackend; readonly drafts: string };

export const openDirectoryPlace = (root: string): BlobPlace => ({ backend: openBlobDirectory(root), drafts: join(root, DRAFTS) });

/** Opens the place that `findBlobsUrl` returns, without sending a request to it; null if there is none. */
export const openBlobPlace = async (config: BlobConfig): Promise<BlobPlace | null> => {
  const location = parseBlobsUrl(findBlobsUrl(config) ?? '');
  if (!location) return null;
  if (location.kind === 'directory') return openDirectoryPlace(location.path);
  const { openBlobBucket } = await import('./blob-bucket.ts');
  return { backend: openBlobBucket(location), drafts: join(config.annalsData, 'blob-drafts') };
};

/** Creates the blob store over a place. `report` is called with the causes of refusals. */
export const openBlobStore = (
  place: BlobPlace | null,
  vault: Pick<Vault, 'blobKey'>,
  report: (cause: unknown) => void = () => {},
): BlobStore => (place ? createBlobStore({ ...place, vault, report }) : withoutBlobStore);
