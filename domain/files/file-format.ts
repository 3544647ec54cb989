/** Formats that people upload in place of a text or a zip archive, and their first bytes. */
const SIGNATURES: readonly (readonly [name: string, start: string, at?: number])[] = [
  ['a zip archive without files', 'PK\x05\x06'],
  ['a part of a zip archive that was split', 'PK\x07\x08'],
  ['a zip archive, or a document of an office program', 'PK\x03\x04'],
  ['a gzip archive (.gz, .tgz)', '\x1f\x8b'],
  ['a tar archive', 'ustar', 257],
  ['a bzip2 archive', 'BZh'],
  ['an xz archive', '\xfd7zXZ\0'],
  ['a Zstandard archive', '\x28\xb5\x2f\xfd'],
  ['a 7z archive', '7z\xbc\xaf\x27\x1c'],
  ['a RAR archive', 'Rar!\x1a\x07'],
  ['a cabinet file of Windows', 'MSCF\0\0\0\0'],
  ['a program of Windows, perhaps an archive that unpacks itself', 'MZ'],
  ['a program of Linux', '\x7fELF'],
  ['a PDF document', '%PDF-'],
  ['a document of an old office program', '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'],
  ['a document in Rich Text Format', '{\\rtf'],
  ['a PNG picture', '\x89PNG\r\n\x1a\n'],
  ['a JPEG picture', '\xff\xd8\xff'],
  ['a GIF picture', 'GIF8'],
  ['a WebP picture', 'WEBP', 8],
  ['an SQLite database', 'SQLite format 3\0'],
  ['a property list of macOS', 'bplist00'],
];

const PAGE = /^(?:\xef\xbb\xbf)?\s*(?:<!doctype html|<html)/i;

/** Null if it is not one of the known formats. */
export const formatName = (head: Uint8Array): string | null => {
  const start = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, 512)).toString('latin1');
  return SIGNATURES.find(([, text, at = 0]) => start.startsWith(text, at))?.[0] ?? (PAGE.test(start) ? 'an HTML page' : null);
};
