/** The directory, below that of the store, of the files that are not yet stored under their name. */
export const DRAFTS = 'drafts';

/** The name of a stored content. Two tenants never share a stored content. */
export type BlobName = { readonly tenant: string; readonly sha256: string };

/** A sealed content in a local file that is not yet stored under its name. `sealedSize` is the size of that file. */
export type BlobDraft = { readonly path: string; readonly sealedSize: number };

/**
 * The sealed bytes of a stored content. `head` is its beginning, at most as many bytes as were asked for. `rest` reads
 * the bytes after it.
 */
export type SealedBytes = { readonly sealedSize: number; readonly head: Buffer; readonly rest: () => AsyncIterable<Uint8Array> };

/** A stored content as a listing shows it. `version` changes when the content is stored again. */
export type StoredEntry = BlobName & { readonly sealedSize: number; readonly storedAt: number; readonly version: string };

/** A content was sealed again while it was read: what was not read yet does not belong to its beginning. */
export class BlobReplaced extends Error {
  constructor({ tenant, sha256 }: BlobName) {
    super(`the content ${sha256} of tenant ${tenant} was sealed again while it was read`);
    this.name = 'BlobReplaced';
  }
}

/** A place that stores sealed contents: a directory, or a bucket of an object store. */
export type BlobBackend = {
  /**
   * Stores a draft under a name and resolves when it is durable. If the content is stored already, `isIntact` decides
   * whether it is kept. Either way, it counts as stored now, so that it is not removed as an orphan.
   */
  readonly store: (name: BlobName, draft: BlobDraft, isIntact: () => Promise<boolean>) => Promise<void>;
  /**
   * Replaces a stored content by the same one, sealed again, and resolves when it is durable. Does nothing if the
   * content is not stored any more. A reader gets BlobReplaced, unless it has read everything.
   */
  readonly replace: (name: BlobName, draft: BlobDraft) => Promise<void>;
  /** Opens a stored content and reads its first `headBytes` bytes; null if it does not exist. */
  readonly read: (name: BlobName, headBytes: number) => Promise<SealedBytes | null>;
  /** The size of a stored content in sealed bytes; null if it does not exist. */
  readonly sealedSizeOf: (name: BlobName) => Promise<number | null>;
  /** All stored contents; with `tenant`, those of one tenant. */
  readonly list: (tenant?: string) => AsyncIterable<StoredEntry>;
  /** Removes a content. Does nothing and returns false if it was stored again since it was listed, or is gone. */
  readonly remove: (entry: StoredEntry) => Promise<boolean>;
  /**
   * Removes what interrupted puts have left before a time (milliseconds since 1970). In a dry run, only counts it.
   * @returns how many there were
   */
  readonly removeDrafts: (before: number, isDryRun: boolean) => Promise<number>;
  /** Checks cheaply that contents can be stored and read. @throws Error that says why not */
  readonly probe: () => Promise<void>;
  /** Checks thoroughly that contents can be stored, read and removed. @returns what was found @throws Error */
  readonly check: () => Promise<string>;
};
