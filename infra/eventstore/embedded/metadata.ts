import { bytesOf, readFields } from './protobuf.ts';

/** What of a stream's metadata decides which of its events are seen. `raw` keeps every key, numbers as they were written. */
export type StreamMetadata = { truncateBefore: number; maxCount: number; maxAgeMs: number; raw: string };

const DELETED = 2 ** 62;
/** The text that a soft delete writes: 2^63-1 cannot go through a double. */
export const DELETED_METADATA = '{\n  "$tb": 9223372036854775807\n}';

const positive = (value: unknown): number => (typeof value === 'number' && value > 0 ? value : 0);

const parsed = (raw: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(raw);
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
};

/** From a recorded event of a metadata stream. */
export const metadataOf = (recorded: Buffer): StreamMetadata => {
  const raw = (bytesOf(readFields(recorded), 8) ?? Buffer.alloc(0)).toString();
  const value = parsed(raw);
  return {
    truncateBefore: positive(value.$tb),
    maxCount: positive(value.$maxCount),
    maxAgeMs: positive(value.$maxAge) * 1000,
    raw,
  };
};

/** A soft-deleted stream: truncated behind every revision there can be. */
export const isDeleted = (metadata: StreamMetadata | null): boolean => metadata !== null && metadata.truncateBefore >= DELETED;

/** The same metadata with another `$tb`: what a deleted stream gets when it is written to again. */
export const truncatedBefore = (metadata: StreamMetadata | null, revision: number): string =>
  JSON.stringify({ ...parsed(metadata?.raw ?? '{}'), $tb: revision });
