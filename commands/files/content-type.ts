/** Detects the type from the bytes, never from the name. A text is `text/plain`, even HTML or SVG; an unknown type is `application/octet-stream`. */
export type DetectContentType = (bytes: Uint8Array) => Promise<string>;

/** As `DetectContentType`, but while the bytes are read. */
export type TypeDetector = { readonly add: (bytes: Uint8Array) => void; readonly type: () => Promise<string> };
export type CreateTypeDetector = () => TypeDetector;
