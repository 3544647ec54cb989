import {
  createEntryReader,
  type EntryFormat,
  type EntryReader,
  looksLikeJsonItems,
  looksLikeJsonLine,
  MAX_IMPORT_ENTRIES,
  type NewEntry,
  shownSource,
} from '../../domain/memory/memory-entry.ts';
import type { Format } from '../../domain/memory/memory-import.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { isMetadata } from '../../domain/skills/archive-metadata.ts';
import { archiveErrorAt, MAX_ARCHIVE_BYTES } from '../../domain/skills/archive-rules.ts';
import { decodeHead } from '../../domain/text-decoder.ts';
import type { Unpack } from '../skills/archive.ts';

/** `onEntries` gets the entries in the order of the file. Reading continues after its promise has resolved. */
export type ReaderParts = {
  readonly unpack: Unpack;
  /** The request field that refers to the file. */
  readonly pointer: string;
  readonly source: string;
  readonly onEntries: (entries: readonly NewEntry[]) => Promise<void> | void;
};

/** Takes a file piece by piece; call `end` after the last piece. Both functions throw Refusal invalid, too_large. */
export type FileReader = { readonly add: (bytes: Uint8Array) => Promise<void>; readonly end: () => Promise<void> };

/** Enough to detect the format of a file. */
export const FORMAT_HEAD_BYTES = 65_536;
const ZIP = Buffer.from('PK\x03\x04', 'latin1');
const JSON_LINES_NAME = /\.(?:jsonl|ndjson)$/i;
const JSON_LINES_TYPE = /^application\/(?:jsonl|x-jsonlines|x-ndjson|ndjson)\b/i;
const TEXT_NAME = /\.(?:txt|md|markdown)$/i;

/** Detected from name, declared type and first bytes. */
const textFormatOf = (filename: string, contentType: string | null, head: Uint8Array): EntryFormat => {
  if (TEXT_NAME.test(filename)) return 'text';
  const start = decodeHead(head).trimStart();
  if (looksLikeJsonItems(start)) return 'json';
  if (JSON_LINES_NAME.test(filename) || JSON_LINES_TYPE.test(contentType ?? '')) return 'jsonl';
  return looksLikeJsonLine(start.split(/[\r\n]/, 1)[0]!) ? 'jsonl' : 'text';
};

/** Detected from name, declared type and first bytes. */
export const formatOf = (filename: string, contentType: string | null, head: Uint8Array): Format => {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  if (/\.zip$/i.test(filename) || bytes.subarray(0, ZIP.length).equals(ZIP)) return 'zip';
  return textFormatOf(filename, contentType, head);
};

/** Reads the texts while they are unpacked: none is ever in memory as a whole. */
const readArchive = async (archive: Uint8Array, { unpack, pointer, onEntries }: ReaderParts): Promise<void> => {
  let path = '';
  let reader: EntryReader | undefined;
  const endText = async (): Promise<void> => {
    if (reader) await onEntries(reader.end());
  };
  const onPiece = async (of: string, bytes: Uint8Array): Promise<void> => {
    if (isMetadata(of)) return;
    if (of !== path || !reader) {
      await endText();
      path = of;
      const origin = { pointer, name: JSON.stringify(of), source: shownSource(of) };
      reader = createEntryReader(textFormatOf(of, null, bytes), origin);
    }
    await onEntries(reader.add(bytes));
  };
  await unpack(archive, { isKept: () => false, maxBytes: 0, onPiece }).catch((error: unknown) => {
    throw archiveErrorAt(pointer, error);
  });
  await endText();
};

/** Collects the bytes and unpacks in `end`, because an archive can be unpacked only as a whole. */
const createArchiveReader = (parts: ReaderParts): FileReader => {
  const pieces: Uint8Array[] = [];
  let size = 0;
  return {
    add: async (bytes) => {
      size += bytes.length;
      if (size > MAX_ARCHIVE_BYTES)
        throw new Refusal('too_large', `A zip archive may have at most ${MAX_ARCHIVE_BYTES} bytes`, {
          members: { limit: MAX_ARCHIVE_BYTES },
        });
      pieces.push(Uint8Array.from(bytes));
    },
    end: () => readArchive(Buffer.concat(pieces), parts),
  };
};

/** The reader throws if the file has no entries or too many. */
export const createFileReader = (format: Format, parts: ReaderParts): FileReader => {
  const { pointer, source, onEntries } = parts;
  let total = 0;
  const counted: ReaderParts['onEntries'] = (entries) => {
    total += entries.length;
    if (total > MAX_IMPORT_ENTRIES) throw invalid(pointer, `The file has more than ${MAX_IMPORT_ENTRIES} entries`, 'too_many_entries');
    return onEntries(entries);
  };
  const assertAny = (): void => {
    if (total === 0) throw invalid(pointer, 'The file has no text', 'no_entries');
  };
  if (format === 'zip') {
    const archive = createArchiveReader({ ...parts, onEntries: counted });
    return { add: archive.add, end: () => archive.end().then(assertAny) };
  }
  const reader = createEntryReader(format, { pointer, name: 'The file', source });
  return {
    add: async (bytes) => counted(reader.add(bytes)),
    end: async () => {
      await counted(reader.end());
      assertAny();
    },
  };
};
