import { crc32 } from 'node:zlib';
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl';
import { type ArchiveFile, HEAD_BYTES, type KeepFiles, TAIL_BYTES, type Unpack } from '../../commands/skills/archive.ts';
import { Refusal } from '../../domain/refusal.ts';
import {
  type ArchiveEntry,
  badArchive,
  checkEntries,
  createUnpackedCounter,
  MAX_ARCHIVE_ENTRIES,
} from '../../domain/skills/archive-rules.ts';

const LOCAL_HEADER = Buffer.from('PK\x03\x04', 'latin1');
const ENCRYPTED_FLAGS = 0x1 | 0x40 | 0x2000;

const damaged = (reason: string): Refusal => badArchive('damaged', `The archive is damaged or no zip archive: ${reason}`);

/**
 * Throws the refusal that corresponds to an error of the library. The error texts of the library describe only the
 * archive, so users may see them.
 */
const refuse = (error: unknown): never => {
  if (error instanceof Refusal) throw error;
  throw damaged(error instanceof Error ? error.message.slice(0, 200) : 'it cannot be read');
};

type Located = ArchiveEntry & { readonly entry: Entry };

const locate = async (zip: ZipFile, entry: Entry): Promise<Located> => {
  const header = await zip.readLocalFileHeaderPromise(entry);
  if (!header.fileName.equals(entry.fileNameRaw)) throw damaged('an entry has two names');
  if (header.compressionMethod !== entry.compressionMethod) throw damaged('an entry has two compression methods');
  return {
    entry,
    path: entry.fileName,
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
  checkEntries(entries);
  return entries;
};

type Unpacking = { readonly zip: ZipFile; readonly counter: ReturnType<typeof createUnpackedCounter>; readonly keep: KeepFiles };

/** Unpacks one file in pieces. Returns its size and, if the file is kept, its bytes. */
const unpackFile = async (
  { zip, counter, keep }: Unpacking,
  { entry, path }: Located,
): Promise<{ size: number; bytes: Uint8Array | null }> => {
  const isKept = keep.isKept(path);
  if (isKept && entry.uncompressedSize > keep.maxBytes) throw badArchive('file_too_large', `${path} has more than ${keep.maxBytes} bytes`);
  const size = { unpacked: 0, compressed: entry.compressedSize };
  const pieces: Buffer[] = [];
  const head: Buffer[] = [];
  let tail: Buffer = Buffer.alloc(0);
  let checksum = 0;
  for await (const piece of (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>) {
    counter.count(size, piece.length);
    checksum = crc32(piece, checksum);
    await keep.onPiece?.(path, piece);
    if (isKept) pieces.push(piece);
    if (!keep.inspect) continue;
    if (size.unpacked - piece.length < HEAD_BYTES) head.push(piece);
    tail = Buffer.concat([tail.subarray(-TAIL_BYTES), piece]);
  }
  if (checksum !== entry.crc32) throw damaged('a file has a wrong checksum');
  await keep.inspect?.(path, Buffer.concat(head).subarray(0, HEAD_BYTES), tail.subarray(-TAIL_BYTES));
  return { size: size.unpacked, bytes: isKept ? Buffer.concat(pieces) : null };
};

/** Unpacks a zip archive in memory (see `Unpack`). Nothing is written to the disk. */
export const unpackZip: Unpack = async (archive, keep) => {
  const buffer = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  // An archive with bytes before its first entry is refused, because it could also be a valid file of another type.
  if (!buffer.subarray(0, LOCAL_HEADER.length).equals(LOCAL_HEADER)) throw damaged('it does not start with a file');
  try {
    const zip = await fromBufferPromise(buffer, { lazyEntries: true, strictFileNames: true });
    const entries = await readDirectory(zip);
    const unpacking = { zip, counter: createUnpackedCounter(archive.length), keep };
    const files: ArchiveFile[] = [];
    const kept = new Map<string, Uint8Array>();
    for (const located of entries.filter(({ path }) => !path.endsWith('/'))) {
      const { size, bytes } = await unpackFile(unpacking, located);
      files.push({ path: located.path, size });
      if (bytes) kept.set(located.path, bytes);
    }
    return { files, kept };
  } catch (error) {
    return refuse(error);
  }
};
