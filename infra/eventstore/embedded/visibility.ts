import { isDeleted, type StreamMetadata } from './metadata.ts';
import { createdMsAt } from './record.ts';
import type { Stream, StreamCache } from './stream-cache.ts';

/** What a reader of a stream may see: revisions from `low` on, created at `oldest` (epoch ms) or later. */
export type Visible = { low: number; oldest: number };

export const visibleOf = (stream: Stream, metadata: StreamMetadata | null): Visible => {
  // Of a metadata stream only the last event is seen, whatever its own metadata say.
  if (stream.name.startsWith('$$')) return { low: Math.max(0, stream.last), oldest: 0 };
  return {
    low: Math.max(metadata?.truncateBefore ?? 0, metadata?.maxCount ? stream.last - metadata.maxCount + 1 : 0),
    oldest: metadata?.maxAgeMs ? Date.now() - metadata.maxAgeMs : 0,
  };
};

export const isWithinMaxAge = (bytes: Buffer, at: number, { oldest }: Visible): boolean => oldest === 0 || createdMsAt(bytes, at) >= oldest;

/** How a stream looks to a reader. A metadata stream goes with the stream that it is about. */
export const stateOf = (streams: StreamCache, name: string): 'present' | 'absent' | 'deleted' => {
  const stream = streams.get(name);
  if (stream.tombstoned || (name.startsWith('$$') && streams.get(name.slice(2)).tombstoned)) return 'deleted';
  return stream.last < 0 || isDeleted(streams.metadata(stream)) ? 'absent' : 'present';
};
