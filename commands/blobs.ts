/** Identifies a stored content: the SHA-256 of its bytes in lower-case hex, and its size in bytes. */
export type StoredBlob = { readonly sha256: string; readonly size: number };

/** A stored content that can be read. `content` can be iterated once, and need not be iterated. */
export type ReadableBlob = { readonly size: number; readonly content: AsyncIterable<Uint8Array> };

/**
 * The contents (files, packages, attachments) of one tenant. They are immutable and found by their digest. A command
 * first stores a content, and then appends an event that refers to its digest. `annals blobs gc` removes contents to
 * which no event refers, but only when they are at least a day old.
 */
export type Blobs = {
  /**
   * Stores a content; resolves when it is durable. Storing the same content again changes nothing. The content is never
   * in memory as a whole. If iterating it throws, nothing is stored, and the error is passed on.
   * @throws Refusal unavailable if the store cannot be reached or is full, not_configured if there is none
   */
  readonly put: (content: Uint8Array | AsyncIterable<Uint8Array>) => Promise<StoredBlob>;
  /**
   * Opens a content; null if the tenant has none with this digest. Every byte is verified before it is yielded. If the
   * stored content was changed, `get` or the iteration throws.
   * @throws Refusal unavailable, not_configured
   */
  readonly get: (sha256: string) => Promise<ReadableBlob | null>;
  /** Whether the tenant has a content with this digest. @throws Refusal unavailable, not_configured */
  readonly exists: (sha256: string) => Promise<boolean>;
};
