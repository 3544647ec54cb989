import type { Packed, Segment } from './segment.ts';

/** How much is read of a record at first: most are smaller. */
export const FIRST_READ_BYTES = 4 << 10;

/** Memory for the record that was glanced at last: who looks at a stream's last event mostly wants to read it next. */
export const createReadBuffer = () => {
  const bytes = Buffer.alloc(FIRST_READ_BYTES);
  let held: { position: number; segment: Segment; packed: Packed | undefined; size: number } | undefined;

  /** The memory, to be filled anew. */
  const cleared = (): Buffer => {
    held = undefined;
    return bytes;
  };

  /** Remembers what was found, where it lies here. */
  const keep = (position: number, segment: Segment, found: Buffer | undefined): Buffer | undefined => {
    if (found?.buffer === bytes.buffer) held = { position, segment, packed: segment.packed, size: found.length };
    return found;
  };

  /** A copy of the record at a position, if it is the one; not if its segment has been scavenged since. */
  const at = (position: number): Buffer | undefined =>
    held?.position === position && held.segment.packed === held.packed ? Buffer.from(bytes.subarray(0, held.size)) : undefined;

  return { cleared, keep, at };
};
