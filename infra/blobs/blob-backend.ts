/** Holds files that are not yet stored under their final name. */
export const DRAFTS = 'drafts';

/** Each tenant has its own blobs, even if the contents are equal. */
export type BlobName = { readonly tenant: string; readonly sha256: string };

/** An encrypted blob in a local file that does not have its final name yet. `sealedSize` is in bytes. */
export type BlobDraft = { readonly path: string; readonly sealedSize: number };

/** `head` contains the first bytes, at most as many as were requested; `rest` reads those after it. */
export type SealedBytes = { readonly sealedSize: number; readonly head: Buffer; readonly rest: () => AsyncIterable<Uint8Array> };

/** `version` changes when the blob is stored again. */
export type StoredEntry = BlobName & { readonly sealedSize: number; readonly storedAt: number; readonly version: string };

/** The blob was encrypted again while it was read: its remaining bytes do not fit those that were already read. */
export class BlobReplaced extends Error {
  constructor({ tenant, sha256 }: BlobName) {
    super(`the content ${sha256} of tenant ${tenant} was sealed again while it was read`);
    this.name = 'BlobReplaced';
  }
}

/** A place that stores encrypted blobs: a directory, or a bucket of an object store. */
export type BlobBackend = {
  /**
   * Stores a draft under a name, and resolves when it is safely on the disk. If the blob is already stored, it is kept
   * if `isIntact` returns true, and replaced otherwise. In all cases its time of storage is set to now, so that it is
   * not removed as an orphan.
   */
  readonly store: (name: BlobName, draft: BlobDraft, isIntact: () => Promise<boolean>) => Promise<void>;
  /** Resolves when durable. Does nothing if the blob is gone. A reader in the middle of the old one gets BlobReplaced. */
  readonly replace: (name: BlobName, draft: BlobDraft) => Promise<void>;
  /** Null if the blob does not exist. */
  readonly read: (name: BlobName, headBytes: number) => Promise<SealedBytes | null>;
  /** Returns the size of a stored blob after encryption, in bytes; null if it does not exist. */
  readonly sealedSizeOf: (name: BlobName) => Promise<number | null>;
  /** Yields all stored blobs; with `tenant`, only those of this tenant. */
  readonly list: (tenant?: string) => AsyncIterable<StoredEntry>;
  /** Returns false, and removes nothing, if the blob was stored again after the listing or is gone. */
  readonly remove: (entry: StoredEntry) => Promise<boolean>;
  /** Removes drafts last written before `before` (Unix milliseconds); a dry run only counts them. Returns their number. */
  readonly removeDrafts: (before: number, isDryRun: boolean) => Promise<number>;
  /** @throws Error with the reason if blobs cannot be stored and read */
  readonly probe: () => Promise<void>;
  /** Checks storing, reading and removing. Returns a text for the operator. @throws Error */
  readonly check: () => Promise<string>;
};
