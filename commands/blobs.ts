/** What identifies a stored content: the SHA-256 of its bytes in lower-case hex, and their number. */
export type StoredBlob = { readonly sha256: string; readonly size: number };

/** A stored content that can be read. `content` may be iterated once, or not at all. */
export type ReadableBlob = { readonly size: number; readonly content: AsyncIterable<Uint8Array> };

/**
 * The contents (files, packages, attachments) of one tenant. They are immutable and found by their digest, so a command
 * first stores a content and then appends the event that names its digest. Contents that no event names are removed by
 * `annals blobs gc`, but not before they are a day old.
 */
export type Blobs = {
  /**
   * Stores a content and resolves when it is durable. Storing the same content again changes nothing. The content is
   * never held in memory as a whole. If its iteration throws, nothing is stored, and that error is thrown.
   * @throws Refusal unavailable if the store cannot be reached or is full, not_configured if there is none
   */
  readonly put: (content: Uint8Array | AsyncIterable<Uint8Array>) => Promise<StoredBlob>;
  /**
   * Opens a content; null if the tenant has none with this digest. Every byte is verified before it is yielded: if the
   * stored content was changed, `get` or the iteration throws, and no changed byte is yielded.
   * @throws Refusal unavailable, not_configured
   */
  readonly get: (sha256: string) => Promise<ReadableBlob | null>;
  /** Whether the tenant has a content with this digest. @throws Refusal unavailable, not_configured */
  readonly exists: (sha256: string) => Promise<boolean>;
};
