import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Vault } from '../vault/vault.ts';
import { type BlobBackend, DRAFTS } from './blob-backend.ts';
import { openBlobDirectory } from './blob-directory.ts';
import { blobDirectoryOf, defaultBlobsUrl, parseBlobsUrl } from './blob-location.ts';
import { type BlobStore, createBlobStore, withoutBlobStore } from './blob-store.ts';

/** The part of the configuration that says where contents are stored. */
export type BlobConfig = { readonly blobsUrl?: string | undefined; readonly annalsData: string };

/**
 * The place where a platform stores contents, as a command of the operator finds it; undefined if it has none: then it
 * was started with `annals serve` without BLOBS_URL.
 */
export const findBlobsUrl = ({ blobsUrl, annalsData, eventstoreUrl }: BlobConfig & { readonly eventstoreUrl?: string | undefined }) =>
  blobsUrl ?? (eventstoreUrl && !existsSync(blobDirectoryOf(annalsData)) ? undefined : defaultBlobsUrl(annalsData));

/** A place that stores contents, and the local directory of the files that are being sealed. */
export type BlobPlace = { readonly backend: BlobBackend; readonly drafts: string };

/** Opens the place that BLOBS_URL names, without any request to it; null if it is not set. */
export const openBlobPlace = async ({ blobsUrl, annalsData }: BlobConfig): Promise<BlobPlace | null> => {
  const location = blobsUrl === undefined ? null : parseBlobsUrl(blobsUrl);
  if (!location) return null;
  if (location.kind === 'directory') return { backend: openBlobDirectory(location.path), drafts: join(location.path, DRAFTS) };
  const { openBlobBucket } = await import('./blob-bucket.ts');
  return { backend: openBlobBucket(location), drafts: join(blobDirectoryOf(annalsData), DRAFTS) };
};

/** Creates the store of the contents in a place. `report` receives the causes of refusals. */
export const openBlobStore = (
  place: BlobPlace | null,
  vault: Pick<Vault, 'blobKey'>,
  report: (cause: unknown) => void = () => {},
): BlobStore => (place ? createBlobStore({ ...place, vault, report }) : withoutBlobStore);
