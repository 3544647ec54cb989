import type { CreateTypeDetector, DetectContentType } from '../../commands/files/content-type.ts';

const UNKNOWN = 'application/octet-stream';
const TEXT = 'text/plain';

/** Types whose files a browser could run as a page of ours. They are shown as plain text. */
const ACTIVE = /^(text\/|image\/svg|application\/(xml|xhtml|javascript)|.*\+xml$)/;

/** How many bytes at the start of a content tell its type. */
const HEAD_BYTES = 262_144;

/** Creates the function that tells whether all bytes so far are a text in UTF-8 without NUL. */
const createTextCheck = () => {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let isText = true;
  return (bytes: Uint8Array, isLast: boolean): boolean => {
    if (!isText) return false;
    try {
      isText = !decoder.decode(bytes, { stream: !isLast }).includes('\0');
    } catch {
      isText = false;
    }
    return isText;
  };
};

/** Finds the type of a content while it is read (see `DetectContentType`). */
export const createTypeDetector: CreateTypeDetector = () => {
  const checkText = createTextCheck();
  const head: Uint8Array[] = [];
  let size = 0;
  return {
    add: (bytes) => {
      // The bytes may be changed after this call.
      if (size < HEAD_BYTES) head.push(bytes.slice(0, HEAD_BYTES - size));
      size += bytes.length;
      checkText(bytes, false);
    },
    type: async () => {
      // Only uploads need the module, so it is loaded with the first one.
      const { fileTypeFromBuffer } = await import('file-type');
      const found = await fileTypeFromBuffer(Buffer.concat(head)).catch(() => undefined);
      if (found) return ACTIVE.test(found.mime) ? TEXT : found.mime;
      return checkText(new Uint8Array(), true) ? TEXT : UNKNOWN;
    },
  };
};

/** Finds the content type of a file (see `DetectContentType`). */
export const detectContentType: DetectContentType = (bytes) => {
  const detector = createTypeDetector();
  detector.add(bytes);
  return detector.type();
};
