/** What a store is, in as few lines as it can be said: streams of ids, what hides them, and the order of everything. */
export type Expected = 'any' | 'no_stream' | 'stream_exists' | bigint;
export type Answer = string;

type Stream = { ids: string[]; metadata: Metadata | undefined; tombstoned: boolean };
export type Metadata = { truncateBefore?: number; maxCount?: number; deleted?: boolean };

export type Model = {
  streams: Map<string, Stream>;
  log: string[];
  lastAppend: { stream: string; ids: string[]; expected: bigint | 'no_stream' } | undefined;
};

export const emptyModel = (): Model => ({ streams: new Map(), log: [], lastAppend: undefined });

const streamOf = ({ streams }: Model, name: string): Stream => {
  const known = streams.get(name) ?? { ids: [], metadata: undefined, tombstoned: false };
  streams.set(name, known);
  return known;
};

const last = ({ ids }: Stream): bigint => BigInt(ids.length - 1);
const conflict = (stream: Stream): Answer => `wrong-expected-version, is ${last(stream)}`;

const exists = ({ ids, metadata }: Stream): boolean => ids.length > 0 || metadata !== undefined;

/** Whether the ids already lie where this append would have put them. */
const repeated = ({ ids }: Stream, wanted: string[], expected: bigint): boolean =>
  wanted.every((id, i) => ids[Number(expected) + 1 + i] === id);

const write = (model: Model, name: string, stream: Stream, ids: string[]): Answer => {
  stream.ids.push(...ids);
  model.log.push(...ids.map((id) => `${name} ${id}`));
  if (stream.metadata?.deleted) stream.metadata = { truncateBefore: stream.ids.length - ids.length };
  return `done ${last(stream)}`;
};

/** An append of ids that are new, or that repeat an earlier append at its revision. */
export const append = (model: Model, name: string, ids: string[], expected: Expected): Answer => {
  const stream = streamOf(model, name);
  if (stream.tombstoned) return 'stream-deleted';
  if (expected === 'stream_exists' && stream.metadata?.deleted) return 'stream-deleted';
  if (expected === 'stream_exists' && !exists(stream)) return conflict(stream);
  if (expected === 'any' || expected === 'stream_exists') return write(model, name, stream, ids);
  const at = expected === 'no_stream' ? -1n : expected;
  if (at > last(stream)) return conflict(stream);
  if (at < last(stream)) {
    if (repeated(stream, ids, at)) return `done ${at + BigInt(ids.length)}`;
    if (!(at === -1n && stream.metadata?.deleted)) return conflict(stream);
  }
  return write(model, name, stream, ids);
};

/** Several appends at one revision: one of them wins. */
export const race = (model: Model, name: string, expected: Expected, contenders: string[]): 'one' | 'all' | 'none' => {
  const stream = streamOf(model, name);
  if (expected === 'any') return stream.tombstoned ? 'none' : 'all';
  const trial: Model = { streams: new Map([[name, structuredClone(stream)]]), log: [], lastAppend: undefined };
  return append(trial, name, [contenders[0]!], expected).startsWith('done') ? 'one' : 'none';
};

export const remove = (model: Model, name: string): Answer => {
  const stream = streamOf(model, name);
  if (stream.tombstoned) return 'stream-deleted';
  if (!exists(stream)) return 'wrong-expected-version';
  stream.metadata = { deleted: true };
  return 'deleted';
};

export const tombstone = (model: Model, name: string): Answer => {
  const stream = streamOf(model, name);
  if (stream.tombstoned) return 'stream-deleted';
  stream.tombstoned = true;
  model.log.push(`${name} tombstone`);
  return 'tombstoned';
};

/** Metadata written to a deleted stream revives it behind its last event. */
export const setMetadata = (model: Model, name: string, metadata: Metadata): void => {
  const stream = streamOf(model, name);
  stream.metadata = stream.metadata?.deleted ? { ...metadata, truncateBefore: stream.ids.length } : metadata;
};

/** `revision id` of every event that a reader sees, or what it is told instead. */
export const read = (model: Model, name: string): string[] | Answer => {
  const { ids, metadata = {}, tombstoned } = streamOf(model, name);
  if (tombstoned) return 'stream-deleted';
  if (ids.length === 0 || metadata.deleted) return 'stream-not-found';
  const low = Math.max(metadata.truncateBefore ?? 0, metadata.maxCount ? ids.length - metadata.maxCount : 0);
  return ids.map((id, revision) => `${revision} ${id}`).slice(low);
};
