import { isDeleted, type StreamMetadata } from './encoding/metadata.ts';
import type { Stream, StreamCache } from './index/stream-cache.ts';
import { createdMsAt } from './log/record.ts';

/** Events with revision `low` or higher, created at `oldest` (milliseconds since 1970) or later. */
export type Visible = { low: number; oldest: number };

/** Returns which events of a stream are visible under its $tb, $maxCount and $maxAge. */
export const visibleOf = (stream: Stream, metadata: StreamMetadata | null): Visible => {
  // A metadata stream shows only its last event, regardless of its own metadata.
  if (stream.name.startsWith('$$')) return { low: Math.max(0, stream.last), oldest: 0 };
  return {
    low: Math.max(metadata?.truncateBefore ?? 0, metadata?.maxCount ? stream.last - metadata.maxCount + 1 : 0),
    oldest: metadata?.maxAgeMs ? Date.now() - metadata.maxAgeMs : 0,
  };
};

export const isWithinMaxAge = (bytes: Buffer, at: number, { oldest }: Visible): boolean => oldest === 0 || createdMsAt(bytes, at) >= oldest;

/** What readers see. `deleted`: tombstoned, also as a metadata stream. `absent`: without events, or soft-deleted. */
export const stateOf = (streams: StreamCache, name: string): 'present' | 'absent' | 'deleted' => {
  const stream = streams.get(name);
  if (stream.tombstoned || (name.startsWith('$$') && streams.get(name.slice(2)).tombstoned)) return 'deleted';
  return stream.last < 0 || isDeleted(streams.metadata(stream)) ? 'absent' : 'present';
};
