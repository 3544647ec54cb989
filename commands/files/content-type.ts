/**
 * Detects the content type of a file from its bytes, never from its name. A text is `text/plain`, even if it is HTML or
 * SVG. An unknown type is `application/octet-stream`.
 */
export type DetectContentType = (bytes: Uint8Array) => Promise<string>;

/** Detects the content type like `DetectContentType`, but while the bytes are read. */
export type TypeDetector = { readonly add: (bytes: Uint8Array) => void; readonly type: () => Promise<string> };
export type CreateTypeDetector = () => TypeDetector;
