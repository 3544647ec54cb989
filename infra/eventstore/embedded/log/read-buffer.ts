import type { Packed, Segment } from './segment.ts';

/** The number of bytes of a record that are read at first. Most records are smaller. */
export const FIRST_READ_BYTES = 4 << 10;

/** Caches the last record read: looking up a stream reads its last event, which is often requested next. */
export const createReadBuffer = () => {
  const bytes = Buffer.alloc(FIRST_READ_BYTES);
  let cached: { position: number; segment: Segment; packed: Packed | undefined; size: number } | undefined;

  return {
    /** The caller may read another record into the returned buffer. */
    reuse: (): Buffer => {
      cached = undefined;
      return bytes;
    },
    remember: (position: number, segment: Segment, record: Buffer | undefined): void => {
      if (record?.buffer === bytes.buffer) cached = { position, segment, packed: segment.packed, size: record.length };
    },
    /** Undefined unless the record is cached and its segment has not been scavenged since. */
    copyOf: (position: number): Buffer | undefined =>
      cached?.position === position && cached.segment.packed === cached.packed ? Buffer.from(bytes.subarray(0, cached.size)) : undefined,
  };
};
