/** The subdirectory of the store for files that are not yet stored under their final name. */
export const DRAFTS = 'drafts';

/** The name of a stored content. Two tenants never share a stored content. */
export type BlobName = { readonly tenant: string; readonly sha256: string };

/**
 * An encrypted ("sealed") content in a local file that is not yet stored under its name. `sealedSize` is the size of
 * that file in bytes.
 */
export type BlobDraft = { readonly path: string; readonly sealedSize: number };

/**
 * The sealed bytes of a stored content. `head` has its first bytes, at most as many as were requested. `rest` reads the
 * bytes after them.
 */
export type SealedBytes = { readonly sealedSize: number; readonly head: Buffer; readonly rest: () => AsyncIterable<Uint8Array> };

/** A stored content in a listing. `version` changes when the content is stored again. */
export type StoredEntry = BlobName & { readonly sealedSize: number; readonly storedAt: number; readonly version: string };

/**
 * Thrown if a content was sealed again while it was read: the remaining bytes do not belong to the bytes that were
 * read.
 */
export class BlobReplaced extends Error {
  constructor({ tenant, sha256 }: BlobName) {
    super(`the content ${sha256} of tenant ${tenant} was sealed again while it was read`);
    this.name = 'BlobReplaced';
  }
}

/** A place that stores sealed contents: a directory, or a bucket of an object store. */
export type BlobBackend = {
  /**
   * Stores a draft under a name; resolves when it is durable. If the content is already stored, `isIntact` decides
   * whether the stored one is kept. In both cases, its time of storage is now, so that it is not removed as an orphan.
   */
  readonly store: (name: BlobName, draft: BlobDraft, isIntact: () => Promise<boolean>) => Promise<void>;
  /**
   * Replaces a stored content with the same content, sealed again; resolves when it is durable. Does nothing if the
   * content is not stored any more. A reader that has not read everything gets BlobReplaced.
   */
  readonly replace: (name: BlobName, draft: BlobDraft) => Promise<void>;
  /** Opens a stored content and reads its first `headBytes` bytes; null if it does not exist. */
  readonly read: (name: BlobName, headBytes: number) => Promise<SealedBytes | null>;
  /** Returns the sealed size of a stored content in bytes; null if it does not exist. */
  readonly sealedSizeOf: (name: BlobName) => Promise<number | null>;
  /** Yields all stored contents; with `tenant`, only those of this tenant. */
  readonly list: (tenant?: string) => AsyncIterable<StoredEntry>;
  /**
   * Removes a content. Returns false, and removes nothing, if it was stored again after the listing, or does not exist
   * any more.
   */
  readonly remove: (entry: StoredEntry) => Promise<boolean>;
  /**
   * Removes the drafts of puts that were interrupted before a time (milliseconds since 1970). In a dry run, only counts
   * them.
   * @returns the number of drafts
   */
  readonly removeDrafts: (before: number, isDryRun: boolean) => Promise<number>;
  /** Quickly checks that contents can be stored and read. @throws Error with the reason why they cannot */
  readonly probe: () => Promise<void>;
  /** Thoroughly checks that contents can be stored, read and removed. @returns a text for the operator @throws Error */
  readonly check: () => Promise<string>;
};
