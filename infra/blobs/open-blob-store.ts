import { join } from 'node:path';
import type { Vault } from '../vault/vault.ts';
import { openBlobDirectory } from './blob-directory.ts';
import { type BlobStore, createBlobStore, DRAFTS } from './blob-store.ts';

/** The directory in which the contents are stored, if they are not in an object store. */
export const blobDirectoryOf = (annalsData: string): string => join(annalsData, 'blobs');

/** Opens the store of the tenants' contents. */
export const openBlobStore = ({ annalsData }: { readonly annalsData: string }, vault: Pick<Vault, 'blobKey'>): BlobStore => {
  const root = blobDirectoryOf(annalsData);
  return createBlobStore({ backend: openBlobDirectory(root), vault, drafts: join(root, DRAFTS) });
};
