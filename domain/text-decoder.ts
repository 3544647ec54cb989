import { formatName } from './files/file-format.ts';

/** Enough to detect the encoding of a text. */
const HEAD_BYTES = 512;

type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be';

const startsWith = (bytes: Uint8Array, ...start: number[]): boolean => start.every((byte, index) => bytes[index] === byte);

/** UTF-16 without a byte order mark: most texts have a zero in every other byte. Null if these do not. */
const unmarkedUtf16 = (head: Uint8Array): Encoding | null => {
  const zeros = [0, 0];
  for (const [index, byte] of head.entries()) if (byte === 0) zeros[index % 2]!++;
  const [even, odd] = zeros as [number, number];
  if (head.length < 4 || (even > 0 && odd > 0) || (even + odd) * 3 < head.length) return null;
  return odd > 0 ? 'utf-16le' : 'utf-16be';
};

/** Detects the encoding from the first bytes. Without a sign of another, UTF-8. */
const encodingOf = (head: Uint8Array): Encoding => {
  if (startsWith(head, 0xff, 0xfe)) return 'utf-16le';
  if (startsWith(head, 0xfe, 0xff)) return 'utf-16be';
  return unmarkedUtf16(head.subarray(0, HEAD_BYTES)) ?? 'utf-8';
};

/** Decodes the start of a text, as far as possible. */
export const decodeHead = (head: Uint8Array): string => new TextDecoder(encodingOf(head)).decode(head);

const SAVE = 'save it as plain text in UTF-8 (in Notepad and Excel: Save as, with UTF-8 as the encoding or type)';

/** Bytes, as characters of Latin-1, that no text has. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const BINARY = /[\0-\x08\x0e-\x1a\x1c-\x1f]/;

const isUtf32 = (head: Uint8Array): boolean => startsWith(head, 0xff, 0xfe, 0, 0) || startsWith(head, 0, 0, 0xfe, 0xff);

/** What bytes that cannot be decoded are, and what to do about it. */
const faultOf = (head: Uint8Array, encoding: Encoding): string => {
  if (isUtf32(head)) return `is a text in UTF-32: ${SAVE}`;
  const name = formatName(head);
  if (name) return `is ${name}, and no text: ${SAVE}`;
  if (encoding !== 'utf-8') return `is not a complete text in UTF-16: ${SAVE}`;
  const isBinary = BINARY.test(Buffer.from(head.subarray(0, HEAD_BYTES)).toString('latin1'));
  return isBinary
    ? `is not a text in UTF-8, but has bytes that only programs write: ${SAVE}`
    : `is not a text in UTF-8, but perhaps in Windows-1252 (ANSI): ${SAVE}`;
};

/** Documents in ASCII, which could be taken for a text. */
const isDocument = (head: Uint8Array): boolean => /^(?:%PDF-|\{\\rtf\d)/.test(Buffer.from(head.subarray(0, 8)).toString('latin1'));

/**
 * Decodes UTF-8 or UTF-16 that arrives in parts; calling it without bytes ends the text. Removes a byte order mark. Throws what `refuse`
 * makes of a fault, which starts with a verb, if the bytes are not text or have U+0000.
 */
export const createTextDecoder = (refuse: (fault: string) => Error) => {
  let head: Uint8Array = new Uint8Array();
  let encoding: Encoding = 'utf-8';
  let decoder: TextDecoder | undefined;
  const textOf = (bytes: Uint8Array, stream: boolean): string | null => {
    try {
      if (!decoder) encoding = encodingOf(head);
      decoder ??= new TextDecoder(encoding, { fatal: true });
      return decoder.decode(bytes, { stream });
    } catch {
      return null;
    }
  };
  const decode = (bytes: Uint8Array, stream: boolean): string => {
    const text = textOf(bytes, stream);
    if (text === null || isDocument(head) || isUtf32(head)) throw refuse(faultOf(head, encoding));
    if (!text.includes('\0')) return text;
    const name = formatName(head);
    throw refuse(name ? `is ${name}, and no text: ${SAVE}` : `has the character U+0000, which no text has: remove it, or ${SAVE}`);
  };
  return (bytes?: Uint8Array): string => {
    if (decoder) return decode(bytes ?? new Uint8Array(), bytes !== undefined);
    head = bytes ? Buffer.concat([head, bytes]) : head;
    return bytes && head.length < HEAD_BYTES ? '' : decode(head, bytes !== undefined);
  };
};

/** See `createTextDecoder`. */
export const decodeText = (bytes: Uint8Array, refuse: (fault: string) => Error): string => {
  const decode = createTextDecoder(refuse);
  return decode(bytes) + decode();
};
