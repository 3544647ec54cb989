import type { NewEntry } from '../../domain/memory/memory-entry.ts';
import type { Segment } from '../../domain/memory/memory-import.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type Blobs, readAll } from '../blobs.ts';

/** The approximate size of a complete segment. */
const SEGMENT_BYTES = 262_144;

/** `add` stores entries as soon as a segment is full; `finish` stores the rest and returns all segments. */
export const createSegmentWriter = (blobs: Blobs) => {
  const segments: Segment[] = [];
  let lines: string[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    const { sha256 } = await blobs.put(Buffer.from(lines.join('\n')));
    segments.push({ sha256, entries: lines.length });
    lines = [];
    bytes = 0;
  };
  return {
    add: async (entries: readonly NewEntry[]): Promise<void> => {
      for (const entry of entries) {
        const line = JSON.stringify(entry);
        lines.push(line);
        bytes += line.length;
        if (bytes >= SEGMENT_BYTES) await flush();
      }
    },
    finish: async (): Promise<readonly Segment[]> => {
      if (lines.length > 0) await flush();
      return segments;
    },
    stored: (): number => segments.reduce((sum, { entries }) => sum + entries, 0),
  };
};

/** `salt`: random, stored with the entry, so that a short text cannot be guessed from the digest. @returns the digest of the segment */
export const storeEntry = async (blobs: Blobs, entry: NewEntry, salt: string): Promise<string> =>
  (await blobs.put(Buffer.from(JSON.stringify({ ...entry, salt })))).sha256;

/**
 * Null if the file is gone and `isRemoved` confirms that its entries were removed: the read models may not show it yet.
 * @throws Refusal unavailable, not_configured
 */
export const readSegment = async (blobs: Blobs, sha256: string, isRemoved: () => Promise<boolean>): Promise<readonly NewEntry[] | null> => {
  const blob = await blobs.get(sha256);
  if (blob) {
    const text = (await readAll(blob.content)).toString('utf8');
    return text.split('\n').map((line) => JSON.parse(line) as NewEntry);
  }
  if (await isRemoved()) return null;
  throw new Refusal('unavailable', 'The memory of the agent cannot be read', { retryAfter: 60 });
};
