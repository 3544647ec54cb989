import { isUtf8 as isValidUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { type Entry, fromBufferPromise, getFileNameLowLevel, type ZipFile } from 'yauzl';
import { type ArchiveFile, HEAD_BYTES, type KeepFiles, TAIL_BYTES, type Unpack } from '../../commands/skills/archive.ts';
import {
  type ArchiveEntry,
  badArchive,
  checkEntries,
  createUnpackedCounter,
  MAX_ARCHIVE_ENTRIES,
  quoted,
} from '../../domain/skills/archive-rules.ts';
import { archiveFault, assertMethod, damaged, entryFault, noArchive } from './zip-faults.ts';

const LOCAL_HEADER = Buffer.from('PK\x03\x04', 'latin1');
const ENCRYPTED_FLAGS = 0x1 | 0x40 | 0x2000;

const UTF8_NAME = 0x800;
const UNICODE_PATH = 0x7075;
const FOLDER_ATTRIBUTE = 0x10;
const TYPE_MASK = 0o170000;
const FOLDER_MODE = 0o040000;

/** Repairs names: Finder writes UTF-8 without the flag for it, some programs write backslashes, others `./` in front. */
const pathOf = ({ fileNameRaw, generalPurposeBitFlag, extraFields }: Entry): string => {
  const isUtf8 = isValidUtf8(fileNameRaw) && !extraFields.some(({ id }) => id === UNICODE_PATH);
  const flags = isUtf8 ? generalPurposeBitFlag | UTF8_NAME : generalPurposeBitFlag;
  return getFileNameLowLevel(flags, fileNameRaw, extraFields, true)
    .replaceAll('\\', '/')
    .replace(/^(?:\.\/)+(?=.)/s, '');
};

/** Returns whether an entry is a folder, which some programs write without a slash at its end. */
const isFolder = ({ externalFileAttributes, uncompressedSize }: Entry): boolean =>
  uncompressedSize === 0 &&
  ((externalFileAttributes & FOLDER_ATTRIBUTE) !== 0 || ((externalFileAttributes >>> 16) & TYPE_MASK) === FOLDER_MODE);

type Located = ArchiveEntry & { readonly entry: Entry };

const locate = async (zip: ZipFile, entry: Entry): Promise<Located> => {
  const name = pathOf(entry);
  const path = isFolder(entry) && name !== '' && !name.endsWith('/') ? `${name}/` : name;
  const header = await zip.readLocalFileHeaderPromise(entry).catch((error: unknown) => {
    throw entryFault(path, error);
  });
  if (!header.fileName.equals(entry.fileNameRaw)) throw damaged(`${quoted(path)} has another name in front of its data`);
  if (header.compressionMethod !== entry.compressionMethod) throw damaged(`${quoted(path)} has two compression methods`);
  return {
    entry,
    path,
    unixMode: entry.externalFileAttributes >>> 16,
    isEncrypted: ((entry.generalPurposeBitFlag | header.generalPurposeBitFlag) & ENCRYPTED_FLAGS) !== 0,
    start: entry.relativeOffsetOfLocalHeader,
    end: header.fileDataStart + entry.compressedSize,
  };
};

/** Reads the directory of the archive, and checks it before any file is unpacked. */
const readDirectory = async (zip: ZipFile): Promise<Located[]> => {
  const entries: Located[] = [];
  for await (const entry of zip.eachEntry()) {
    entries.push(await locate(zip, entry));
    if (entries.length > MAX_ARCHIVE_ENTRIES) break;
  }
  const own = entries.filter(({ path }) => path !== './');
  checkEntries(own);
  for (const { path, entry } of own) assertMethod(path, entry.compressionMethod);
  return own;
};

const openArchive = async (buffer: Buffer) => {
  const zip = await fromBufferPromise(buffer, { lazyEntries: true, decodeStrings: false });
  return { zip, entries: await readDirectory(zip) };
};

type Unpacking = { readonly zip: ZipFile; readonly counter: ReturnType<typeof createUnpackedCounter>; readonly keep: KeepFiles };

/** Yields the unpacked bytes of a file. Only errors of the archive become refusals, and not those of the caller. */
async function* piecesOf(zip: ZipFile, { entry, path }: Located): AsyncGenerator<Buffer> {
  try {
    yield* (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>;
  } catch (error) {
    throw entryFault(path, error);
  }
}

/** Returns the file's bytes only if it is kept. */
const unpackFile = async ({ zip, counter, keep }: Unpacking, located: Located): Promise<{ size: number; bytes: Uint8Array | null }> => {
  const { entry, path } = located;
  const isKept = keep.isKept(path);
  if (isKept && entry.uncompressedSize > keep.maxBytes)
    throw badArchive('file_too_large', `${quoted(path)} has more than ${keep.maxBytes} bytes`);
  const size = { path, unpacked: 0, compressed: entry.compressedSize };
  const pieces: Buffer[] = [];
  const head: Buffer[] = [];
  let tail: Buffer = Buffer.alloc(0);
  let checksum = 0;
  for await (const piece of piecesOf(zip, located)) {
    counter.count(size, piece.length);
    checksum = crc32(piece, checksum);
    await keep.onPiece?.(path, piece);
    if (isKept) pieces.push(piece);
    if (!keep.inspect) continue;
    if (size.unpacked - piece.length < HEAD_BYTES) head.push(piece);
    tail = Buffer.concat([tail.subarray(-TAIL_BYTES), piece]);
  }
  if (checksum !== entry.crc32) throw damaged(`${quoted(path)} has another checksum than the list of files says`);
  await keep.inspect?.(path, Buffer.concat(head).subarray(0, HEAD_BYTES), tail.subarray(-TAIL_BYTES));
  return { size: size.unpacked, bytes: isKept ? Buffer.concat(pieces) : null };
};

/** Unpacks a zip archive in memory (see `Unpack`). Nothing is written to the disk. */
export const unpackZip: Unpack = async (archive, keep) => {
  const buffer = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  // An archive with bytes before its first entry is refused, because it could also be a valid file of another type.
  if (!buffer.subarray(0, LOCAL_HEADER.length).equals(LOCAL_HEADER)) throw noArchive(buffer);
  const { zip, entries } = await openArchive(buffer).catch((error: unknown) => {
    throw archiveFault(error);
  });
  const unpacking = { zip, counter: createUnpackedCounter(archive.length), keep };
  const files: ArchiveFile[] = [];
  const kept = new Map<string, Uint8Array>();
  for (const located of entries.filter(({ path }) => !path.endsWith('/'))) {
    const { size, bytes } = await unpackFile(unpacking, located);
    files.push({ path: located.path, size });
    if (bytes) kept.set(located.path, bytes);
  }
  return { files, kept };
};
