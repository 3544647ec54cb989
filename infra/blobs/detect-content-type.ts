import type { DetectContentType } from '../../commands/files/content-type.ts';

const UNKNOWN = 'application/octet-stream';
const TEXT = 'text/plain';

/** Types whose files a browser could run as a page of ours. They are shown as plain text. */
const ACTIVE = /^(text\/|image\/svg|application\/(xml|xhtml|javascript)|.*\+xml$)/;

const isText = (bytes: Uint8Array): boolean => {
  try {
    return !new TextDecoder('utf-8', { fatal: true }).decode(bytes).includes('\0');
  } catch {
    return false;
  }
};

/** Finds the content type of a file by its first bytes (see `DetectContentType`). */
export const detectContentType: DetectContentType = async (bytes) => {
  // Only uploads need the module, so it is loaded with the first one.
  const { fileTypeFromBuffer } = await import('file-type');
  const found = await fileTypeFromBuffer(bytes).catch(() => undefined);
  if (found) return ACTIVE.test(found.mime) ? TEXT : found.mime;
  return isText(bytes) ? TEXT : UNKNOWN;
};
