import type { Packed, Segment } from './segment.ts';

/** How many bytes of a record are read at first. Most records are smaller. */
export const FIRST_READ_BYTES = 4 << 10;

/**
 * Creates a buffer that remembers the last record read into it. Looking a stream up reads its last event, and often
 * that event is requested next.
 */
export const createReadBuffer = () => {
  const bytes = Buffer.alloc(FIRST_READ_BYTES);
  let cached: { position: number; segment: Segment; packed: Packed | undefined; size: number } | undefined;

  return {
    /** Drops the cached record. @returns the buffer, for the next read to overwrite */
    reuse: (): Buffer => {
      cached = undefined;
      return bytes;
    },
    /** Caches a record, if it was read into this buffer. */
    remember: (position: number, segment: Segment, record: Buffer | undefined): void => {
      if (record?.buffer === bytes.buffer) cached = { position, segment, packed: segment.packed, size: record.length };
    },
    /** A copy of the record if it is the cached one and its segment has not been scavenged since. */
    copyOf: (position: number): Buffer | undefined =>
      cached?.position === position && cached.segment.packed === cached.packed ? Buffer.from(bytes.subarray(0, cached.size)) : undefined,
  };
};
