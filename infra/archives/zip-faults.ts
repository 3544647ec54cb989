import { formatName } from '../../domain/files/file-format.ts';
import { Refusal } from '../../domain/refusal.ts';
import { badArchive, quoted } from '../../domain/skills/archive-rules.ts';

/** `reason` is a sentence without its end. */
export const damaged = (reason: string): Refusal => badArchive('damaged', `The archive is damaged: ${reason}. Pack it again`);

/** The faults of an archive by the error texts of the library, which users do not see. */
const FAULTS: readonly (readonly [text: RegExp, reason: string])[] = [
  [/^End of central directory record signature not found/, 'its end is missing, as after an upload or download that broke off'],
  [/^Invalid comment length/, 'there are bytes after its end'],
  [/^invalid central directory file header|^unexpected EOF|zip64|extra field/i, 'its list of files cannot be read'],
];

const ENTRY_FAULTS: readonly (readonly [text: RegExp, reason: string])[] = [
  [/^invalid local file header signature/, 'does not start where the list of files says'],
  [/^file data overflows file bounds|^unexpected EOF/, 'ends after the end of the archive'],
  [/^(?:too many|not enough) bytes in the stream|size mismatch/, 'has another size than the list of files says'],
];

const reasonOf = (faults: typeof FAULTS, error: unknown): string | undefined =>
  faults.find(([text]) => text.test(error instanceof Error ? error.message : ''))?.[1];

export const archiveFault = (error: unknown): Refusal => {
  if (error instanceof Refusal) return error;
  const message = error instanceof Error ? error.message : '';
  if (message.startsWith('multi-disk'))
    return badArchive('damaged', 'The archive is one of several parts: pack the files into one zip archive');
  if (message === 'strong encryption is not supported')
    return badArchive('encrypted', 'The archive has a file that is encrypted: pack it without a password');
  return damaged(reasonOf(FAULTS, error) ?? 'its list of files cannot be read');
};

export const entryFault = (path: string, error: unknown): Refusal =>
  error instanceof Refusal ? error : damaged(`${quoted(path)} ${reasonOf(ENTRY_FAULTS, error) ?? 'has data that cannot be unpacked'}`);

const METHODS: Readonly<Record<number, string>> = {
  1: 'Shrink',
  6: 'Implode',
  9: 'Deflate64',
  12: 'bzip2',
  14: 'LZMA',
  93: 'Zstandard',
  95: 'XZ',
  98: 'PPMd',
};
const STORED = 0;
const DEFLATE = 8;
/** The method that WinZip writes for AES. */
const AES = 99;

/** @throws Refusal invalid if a file is compressed in another way than every program can unpack */
export const assertMethod = (path: string, method: number): void => {
  if (method === AES) throw badArchive('encrypted', `${quoted(path)} is encrypted: pack it without a password`);
  if (method === STORED || method === DEFLATE) return;
  const name = METHODS[method] ?? `method ${method}`;
  throw badArchive(
    'compression_method',
    `${quoted(path)} is compressed with ${name}: pack it with Deflate, which every program can unpack`,
  );
};

export const noArchive = (bytes: Uint8Array): Refusal => {
  const pack = 'pack the files as a zip archive';
  if (bytes.length === 0) return badArchive('damaged', `The file is empty: ${pack}`);
  const name = formatName(bytes);
  if (name) return badArchive('damaged', `The file is ${name}${name.includes('a zip archive') ? '' : ', and no zip archive'}: ${pack}`);
  return badArchive('damaged', `The file is not a zip archive, or has other bytes before its first file: ${pack}`);
};
