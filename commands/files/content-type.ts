/**
 * Finds the content type of a file by its bytes, never by its name. A text is `text/plain`, even if it is HTML or SVG;
 * what is unknown is `application/octet-stream`.
 */
export type DetectContentType = (bytes: Uint8Array) => Promise<string>;

/** Finds the content type of a content while its bytes are read, in the same way. */
export type TypeDetector = { readonly add: (bytes: Uint8Array) => void; readonly type: () => Promise<string> };
export type CreateTypeDetector = () => TypeDetector;
