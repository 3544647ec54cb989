/**
 * Detects the content type of a file from its bytes, and never from its name. The type of every text is `text/plain`,
 * even of HTML or SVG. If the type cannot be detected, the result is `application/octet-stream`.
 */
export type DetectContentType = (bytes: Uint8Array) => Promise<string>;

/** Detects the content type as `DetectContentType` does, but while the bytes are read. `type` returns the result. */
export type TypeDetector = { readonly add: (bytes: Uint8Array) => void; readonly type: () => Promise<string> };
export type CreateTypeDetector = () => TypeDetector;
