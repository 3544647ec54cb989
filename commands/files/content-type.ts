/**
 * Finds the content type of a file by its bytes, never by its name. A text is `text/plain`, even if it is HTML or SVG;
 * what is unknown is `application/octet-stream`.
 */
export type DetectContentType = (bytes: Uint8Array) => Promise<string>;
