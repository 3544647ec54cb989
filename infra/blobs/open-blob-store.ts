import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Vault } from '../vault/vault.ts';
import { type BlobBackend, DRAFTS } from './blob-backend.ts';
import { openBlobDirectory } from './blob-directory.ts';
import { blobDirectoryOf, defaultBlobsUrl, parseBlobsUrl } from './blob-location.ts';
import { type BlobStore, createBlobStore, withoutBlobStore } from './blob-store.ts';

export type BlobConfig = { readonly blobsUrl?: string | undefined; readonly annalsData: string };

/**
 * Returns BLOBS_URL or, by default, the directory in the data directory, if it exists. Only `annals start` creates it: processes of `annals
 * serve` may run on several machines, which would not see each other's files.
 */
export const findBlobsUrl = ({ blobsUrl, annalsData }: BlobConfig): string | undefined =>
  blobsUrl ?? (existsSync(blobDirectoryOf(annalsData)) ? defaultBlobsUrl(annalsData) : undefined);

/** `drafts` is a local directory for files while they are being encrypted. */
export type BlobPlace = { readonly backend: BlobBackend; readonly drafts: string };

export const openDirectoryPlace = (root: string): BlobPlace => ({ backend: openBlobDirectory(root), drafts: join(root, DRAFTS) });

/** Sends no request to the place. Returns null if there is none. */
export const openBlobPlace = async (config: BlobConfig): Promise<BlobPlace | null> => {
  const location = parseBlobsUrl(findBlobsUrl(config) ?? '');
  if (!location) return null;
  if (location.kind === 'directory') return openDirectoryPlace(location.path);
  const { openBlobBucket } = await import('./blob-bucket.ts');
  return { backend: openBlobBucket(location), drafts: join(config.annalsData, 'blob-drafts') };
};

/** `report` is called with the causes of refusals. */
export const openBlobStore = (
  place: BlobPlace | null,
  vault: Pick<Vault, 'blobKey'>,
  report: (cause: unknown) => void = () => {},
): BlobStore => (place ? createBlobStore({ ...place, vault, report }) : withoutBlobStore);
