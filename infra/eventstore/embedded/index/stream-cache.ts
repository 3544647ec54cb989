import { metadataOf, type StreamMetadata } from '../encoding/metadata.ts';
import type { Log } from '../log/log.ts';
import { nameAt, recordedAt, TOMBSTONE_REVISION } from '../log/record.ts';
import type { Index } from './stream-index.ts';
import { keyOf } from './stream-key.ts';

/** `last` is the revision of the last event; -1 if none. `metadata` is undefined until it is first needed. */
export type Stream = {
  name: string;
  key: number;
  last: number;
  tombstoned: boolean;
  metadata: StreamMetadata | null | undefined;
};

/** The index names a position without an event, for example because scavenging has removed it. */
const staleIndexError = (position: number): Error =>
  Object.assign(new Error(`the index names position ${position}, but no event is there: run "annals store verify"`), {
    isStaleIndex: true,
  });
export const isStaleIndex = (error: unknown): boolean => error instanceof Error && 'isStaleIndex' in error;

const MAX_GENERATION_SIZE = 20_000;

export type StreamCache = ReturnType<typeof createStreamCache>;

/** Recently used streams are in two maps: when the young one is full, it replaces the old one. */
export const createStreamCache = (log: Log, index: Index, hash: typeof keyOf = keyOf) => {
  let young = new Map<string, Stream>();
  let old = new Map<string, Stream>();

  /** Different names may have the same key, so the name is compared with that in the log's record. */
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

  const remember = (stream: Stream): Stream => {
    if (young.size >= MAX_GENERATION_SIZE) {
      old = young;
      young = new Map();
    }
    young.set(stream.name, stream);
    return stream;
  };

  const get = (name: string): Stream => young.get(name) ?? remember(old.get(name) ?? load(name));

  /** Null if the stream has none. @throws Error if the record of the metadata is damaged */
  const metadata = (stream: Stream): StreamMetadata | null => {
    if (stream.metadata !== undefined) return stream.metadata;
    const meta = get(`$$${stream.name}`);
    const position = meta.last < 0 ? undefined : index.find(meta.key, meta.last);
    const record = position === undefined ? undefined : log.recordOrFreed(position);
    stream.metadata = record ? metadataOf(recordedAt(record, 0)) : null;
    return stream.metadata;
  };

  /** Call it when an event of the metadata stream (`$$name`) is written. */
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
