import type { Log } from './log.ts';
import { metadataOf, type StreamMetadata } from './metadata.ts';
import { nameAt, recordedAt, TOMBSTONE_REVISION } from './record.ts';
import type { Index } from './stream-index.ts';
import { keyOf } from './stream-key.ts';

/** What the store knows of a stream. `last` is -1 where there is no event; `metadata` is undefined until somebody asks. */
export type Stream = {
  name: string;
  key: number;
  last: number;
  tombstoned: boolean;
  metadata: StreamMetadata | null | undefined;
};

/** The index says of a place that a stream's last event lies there, and scavenging has taken away what was there. */
const staleIndexError = (position: number): Error =>
  Object.assign(new Error(`the index names position ${position}, where no event is: run "annals store verify"`), { isStaleIndex: true });
export const isStaleIndex = (error: unknown): boolean => error instanceof Error && 'isStaleIndex' in error;

const GENERATION = 20_000;

export type StreamCache = ReturnType<typeof createStreamCache>;

/** Streams by name, the recently used ones in memory. */
export const createStreamCache = (log: Log, index: Index, hash: typeof keyOf = keyOf) => {
  let young = new Map<string, Stream>();
  let old = new Map<string, Stream>();

  const load = (name: string): Stream => {
    const bytes = Buffer.from(name);
    for (let probe = 0; ; probe++) {
      const key = hash(name, probe);
      const last = index.last(key);
      if (!last) return { name, key, last: -1, tombstoned: false, metadata: undefined };
      const record = log.viewRecord(last.position);
      if (!record) throw staleIndexError(last.position);
      if (!nameAt(record, 0).equals(bytes)) continue;
      const tombstoned = last.revision === TOMBSTONE_REVISION;
      return { name, key, last: tombstoned ? -1 : last.revision, tombstoned, metadata: undefined };
    }
  };

  const keep = (stream: Stream): Stream => {
    if (young.size >= GENERATION) {
      old = young;
      young = new Map();
    }
    young.set(stream.name, stream);
    return stream;
  };

  const get = (name: string): Stream => young.get(name) ?? keep(old.get(name) ?? load(name));

  const metadata = (stream: Stream): StreamMetadata | null => {
    if (stream.metadata !== undefined) return stream.metadata;
    const meta = get(`$$${stream.name}`);
    const position = meta.last < 0 ? undefined : index.find(meta.key, meta.last);
    const record = position === undefined ? undefined : log.recordOrFreed(position);
    stream.metadata = record ? metadataOf(recordedAt(record, 0)) : null;
    return stream.metadata;
  };

  /** After an event of `$$name` was written: what was known of its metadata is not so any more. */
  const forgetMetadata = (name: string): void => {
    const stream = young.get(name) ?? old.get(name);
    if (stream) stream.metadata = undefined;
  };

  const clear = (): void => {
    young.clear();
    old.clear();
  };

  return { get, metadata, forgetMetadata, clear };
};
