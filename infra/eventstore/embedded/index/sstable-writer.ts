import * as fs from 'node:fs';
import { crc32 } from 'node:zlib';
import { writeAll } from '../../../durable-files.ts';
import { bloomOf, bloomSize } from './bloom.ts';
import { ENTRY_FIELDS, FOOTER_BYTES, PAGE_ENTRIES, TABLE_MAGIC } from './sstable.ts';

const bufferOf = ({ buffer, byteOffset, byteLength }: Float64Array | Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength);

/** Entries must be added in order. `maxStreams` is an upper bound of the number of keys. */
export const createTableWriter = (path: string, maxStreams: number) => {
  const file = fs.openSync(path, 'w', 0o600);
  const bloom = bloomOf(new Uint8Array(bloomSize(maxStreams)));
  const pageStarts: number[] = [];
  let count = 0;
  let checksum = 0;
  let lastKey = -1;

  const addKey = (key: number, revision: number): void => {
    if (count % PAGE_ENTRIES === 0) pageStarts.push(key, revision);
    if (key !== lastKey) bloom.add(key);
    lastKey = key;
    count++;
  };

  /** An entry is three numbers: key, revision and position. */
  const add = (entries: Float64Array): void => {
    const at = count * ENTRY_FIELDS * 8;
    for (let i = 0; i < entries.length; i += ENTRY_FIELDS) addKey(entries[i]!, entries[i + 1]!);
    const bytes = bufferOf(entries);
    checksum = crc32(bytes, checksum);
    writeAll(file, bytes, at);
  };

  /** Does not block the event loop. */
  const finish = async (): Promise<void> => {
    finishNow(false);
    await new Promise<void>((resolve, reject) => fs.fsync(file, (error) => (error ? reject(error) : resolve())));
    fs.closeSync(file);
  };

  /** Unless `close` is false, also syncs and closes the file, which blocks the event loop. */
  const finishNow = (close = true): void => {
    const filters = Buffer.concat([bufferOf(Float64Array.from(pageStarts)), bufferOf(bloom.bits)]);
    const footer = Buffer.alloc(FOOTER_BYTES);
    footer.write(TABLE_MAGIC, 'latin1');
    footer.writeDoubleLE(count, 16);
    footer.writeDoubleLE(bloom.bits.length, 24);
    footer.writeUInt32LE(checksum, 32);
    footer.writeUInt32LE(crc32(filters), 36);
    writeAll(file, Buffer.concat([filters, footer]), count * ENTRY_FIELDS * 8);
    if (!close) return;
    fs.fsyncSync(file);
    fs.closeSync(file);
  };

  const discard = (): void => {
    fs.closeSync(file);
    fs.rmSync(path, { force: true });
  };

  return { add, finish, finishNow, discard };
};
