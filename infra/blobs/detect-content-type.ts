import type { CreateTypeDetector, DetectContentType } from '../../commands/files/content-type.ts';

const UNKNOWN = 'application/octet-stream';
const TEXT = 'text/plain';

/** Matches content types that a browser could run as a page of the platform. Such files are shown as plain text. */
const ACTIVE = /^(text\/|image\/svg|application\/(xml|xhtml|javascript)|.*\+xml$)/;

/** The number of bytes at the start of a file from which its type is detected. */
const HEAD_BYTES = 262_144;

/** Creates a function that returns whether all bytes so far are a UTF-8 text without NUL. */
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

export const createTypeDetector: CreateTypeDetector = () => {
  const checkText = createTextCheck();
  const head: Uint8Array[] = [];
  let size = 0;
  return {
    add: (bytes) => {
      // Copy the bytes, because the caller may change them after this call.
      if (size < HEAD_BYTES) head.push(bytes.slice(0, HEAD_BYTES - size));
      size += bytes.length;
      checkText(bytes, false);
    },
    type: async () => {
      // Only uploads need this module, so it is loaded when the first one arrives.
      const { fileTypeFromBuffer } = await import('file-type');
      const found = await fileTypeFromBuffer(Buffer.concat(head)).catch(() => undefined);
      if (found) return ACTIVE.test(found.mime) ? TEXT : found.mime;
      return checkText(new Uint8Array(), true) ? TEXT : UNKNOWN;
    },
  };
};

export const detectContentType: DetectContentType = (bytes) => {
  const detector = createTypeDetector();
  detector.add(bytes);
  return detector.type();
};
