/** What identifies a stored content: the SHA-256 of its bytes in lower-case hex. `size` is its size in bytes. */
export type StoredBlob = { readonly sha256: string; readonly size: number };

/** A stored content that is opened for reading. `content` can be iterated at most once. */
export type ReadableBlob = { readonly size: number; readonly content: AsyncIterable<Uint8Array> };

/**
 * The stored contents (files, packages, attachments) of one tenant. They never change, and are found by their digest. A
 * command first stores a content, and then appends an event that refers to its digest. `annals blobs gc` removes
 * contents to which no event refers, but only if they are at least a day old.
 */
export type Blobs = {
  /**
   * Stores a content, and resolves when it is safely on the disk. Storing the same content again changes nothing. The
   * content is never in memory as a whole. If iterating it throws, nothing is stored, and the error is thrown again.
   * @throws Refusal unavailable if the file store cannot be reached or is full, not_configured if there is none
   */
  readonly put: (content: Uint8Array | AsyncIterable<Uint8Array>) => Promise<StoredBlob>;
  /**
   * Opens a content. Returns null if the tenant has none with this digest. Every byte is verified before it is yielded:
   * if the stored content was changed, `get` or the iteration throws.
   * @throws Refusal unavailable, not_configured
   */
  readonly get: (sha256: string) => Promise<ReadableBlob | null>;
  /** Returns whether the tenant has a content with this digest. @throws Refusal unavailable, not_configured */
  readonly exists: (sha256: string) => Promise<boolean>;
};

/** Reads a whole content into memory: only for contents whose size is limited. */
export const readAll = async (content: AsyncIterable<Uint8Array>): Promise<Buffer> => Buffer.concat(await Array.fromAsync(content));
