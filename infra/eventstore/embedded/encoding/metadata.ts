import { bytesOf, readFields } from './protobuf.ts';

/** Says which events are visible. `raw` is the complete text. */
export type StreamMetadata = { truncateBefore: number; maxCount: number; maxAgeMs: number; raw: string };

/** A stream whose `$tb` ("truncate before") has at least this value is soft-deleted. */
const DELETED = 2 ** 62;
/** A text, because a JavaScript number cannot represent 2^63-1. */
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

export const isDeleted = (metadata: StreamMetadata | null): boolean => metadata !== null && metadata.truncateBefore >= DELETED;

/** An append that revives a deleted stream writes this text. */
export const truncatedBefore = (metadata: StreamMetadata | null, revision: number): string =>
  JSON.stringify({ ...parsed(metadata?.raw ?? '{}'), $tb: revision });
