/** The SHA-256 in lower-case hex identifies the content; `size` in bytes. */
export type StoredBlob = { readonly sha256: string; readonly size: number };

/** `content` can be iterated at most once. */
export type ReadableBlob = { readonly size: number; readonly content: AsyncIterable<Uint8Array> };

/**
 * Files, packages and attachments of one tenant; never change, found by digest. Store a content before appending the event that refers to
 * it: `annals blobs gc` removes contents without such an event that are at least a day old.
 */
export type Blobs = {
  /**
   * Resolves when the content is safely on the disk; it is never in memory as a whole. Storing it again changes nothing. If iterating it
   * throws, nothing is stored, and the error is thrown again.
   * @throws Refusal unavailable if the file store cannot be reached or is full, not_configured
   */
  readonly put: (content: Uint8Array | AsyncIterable<Uint8Array>) => Promise<StoredBlob>;
  /**
   * Null if there is none. Verifies every byte before yielding it: for a changed content, `get` or the iteration throws.
   * @throws Refusal unavailable, not_configured
   */
  readonly get: (sha256: string) => Promise<ReadableBlob | null>;
  /** @throws Refusal unavailable, not_configured */
  readonly exists: (sha256: string) => Promise<boolean>;
};

/** Only for contents whose size is limited. */
export const readAll = async (content: AsyncIterable<Uint8Array>): Promise<Buffer> => Buffer.concat(await Array.fromAsync(content));
