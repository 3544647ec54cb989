/** The subdirectory of the store for files that are not yet stored under their final name. */
export const DRAFTS = 'drafts';

/**
 * The name of a blob: a file content that the platform stores. Each tenant has its own blobs, even if the contents are
 * equal.
 */
export type BlobName = { readonly tenant: string; readonly sha256: string };

/**
 * An encrypted ("sealed") blob in a local file. The file does not have its final name yet. `sealedSize` is the size of
 * the file in bytes.
 */
export type BlobDraft = { readonly path: string; readonly sealedSize: number };

/**
 * The encrypted bytes of a stored blob. `head` contains the first bytes, at most as many as were requested. `rest`
 * reads the bytes after `head`.
 */
export type SealedBytes = { readonly sealedSize: number; readonly head: Buffer; readonly rest: () => AsyncIterable<Uint8Array> };

/** An entry in a listing of stored blobs. `version` changes when the blob is stored again. */
export type StoredEntry = BlobName & { readonly sealedSize: number; readonly storedAt: number; readonly version: string };

/**
 * Thrown if a blob was encrypted again while it was read. Its remaining bytes do not fit the bytes that were already
 * read.
 */
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
  /**
   * Replaces a stored blob with the same content, encrypted again; resolves when it is durable. Does nothing if the
   * blob is not stored any more. A reader that has not read the whole blob gets BlobReplaced.
   */
  readonly replace: (name: BlobName, draft: BlobDraft) => Promise<void>;
  /** Opens a stored blob and reads its first `headBytes` bytes; null if it does not exist. */
  readonly read: (name: BlobName, headBytes: number) => Promise<SealedBytes | null>;
  /** Returns the size of a stored blob after encryption, in bytes; null if it does not exist. */
  readonly sealedSizeOf: (name: BlobName) => Promise<number | null>;
  /** Yields all stored blobs; with `tenant`, only those of this tenant. */
  readonly list: (tenant?: string) => AsyncIterable<StoredEntry>;
  /**
   * Removes a blob. Returns false, and removes nothing, if the blob was stored again after the listing, or does not
   * exist any more.
   */
  readonly remove: (entry: StoredEntry) => Promise<boolean>;
  /**
   * Removes the drafts of uploads that were interrupted before the time `before` (milliseconds since 1970). In a dry
   * run, only counts them.
   * @returns the number of drafts
   */
  readonly removeDrafts: (before: number, isDryRun: boolean) => Promise<number>;
  /** Quickly checks that blobs can be stored and read. @throws Error with the reason if they cannot */
  readonly probe: () => Promise<void>;
  /**
   * Thoroughly checks that blobs can be stored, read and removed.
   * @returns a text for the operator
   * @throws Error
   */
  readonly check: () => Promise<string>;
};
