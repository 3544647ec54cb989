import type { DomainEvent, Metadata, Position, Recorded } from '../../domain/event.ts';

/** `data` is stored as JSON or, if it is bytes, unchanged. `id` is a UUID. */
export type NewEvent = { id: string; type: string; data: DomainEvent['data'] | Uint8Array; meta: Metadata };

/** The last appended event; that of an earlier attempt if it has already written the events. */
export type Appended = { revision: number; position: Position };

/** The revision of the stream's last event, or 'none' if the stream must not exist. */
export type Expected = 'none' | number;

/** `streamPattern` is a regular expression that the name of the stream must match; the server applies it. */
export type Filter = { streamPrefixes: readonly string[] } | { eventTypes: readonly string[] } | { streamPattern: string };

export type Follower = {
  /** Delivery starts after this position; if absent, at the first event. With 'end', only new events are delivered. */
  from?: Position | 'end' | undefined;
  filter?: Filter | undefined;
  /** Called in log order, each time after the promise before has resolved. An error ends the subscription. */
  event: (event: Recorded) => void | Promise<void>;
  /** Called when every event up to this position was either delivered or rejected by the filter. */
  checkpoint?: (position: Position) => void | Promise<void>;
  /** Called when all events stored so far have been delivered. Every event after that is new. */
  caughtUp?: () => void;
};

/** Implemented with the EventStoreDB client (client.ts) and in memory (test/fixtures/memory-log.ts). */
export type Log = {
  /**
   * Appends all events or none. Retries for up to `deadline` ms (10,000 if absent), with the same event ids and expected revision. With
   * `retry: false`, tries only once; the store may then write the events even after `deadline`.
   * @throws LogError conflict (the stream is not at `expected`), gone (tombstoned), unavailable, wrong-request, too-large, damaged
   */
  append: (
    stream: string,
    expected: Expected,
    events: readonly NewEvent[],
    options?: { deadline?: number; retry?: boolean },
  ) => Promise<Appended>;
  /**
   * Yields the oldest first, from the revision `from` on; with `backwards`, the newest first, from `from` back. By default, starts with the
   * first or the last event. Yields nothing if the stream does not exist.
   * @throws LogError gone, unavailable, damaged
   */
  read: (stream: string, options?: { from?: number; limit?: number; backwards?: boolean }) => AsyncIterable<Recorded>;
  /**
   * Deletes it forever: the name cannot be used again. Scavenging frees the disk space. Does nothing if already tombstoned.
   * @throws LogError unavailable, damaged
   */
  tombstone: (stream: string) => Promise<void>;
  /** Hides the earlier events forever. Scavenging frees their disk space. @throws LogError gone, unavailable, damaged */
  truncate: (stream: string, before: number) => Promise<void>;
  /** Null if the stream has no event. @throws LogError gone, unavailable, damaged */
  last: (stream: string) => Promise<Recorded | null>;
  /**
   * Yields events whose type does not begin with `$`. `from` must be the position of an event; only a forward read includes it.
   * @throws LogError unavailable, damaged
   */
  readAll: (options?: { from?: Position; backwards?: boolean; limit?: number }) => AsyncIterable<Recorded>;
  /** Delivers events until the subscription is stopped. After a connection error, subscribes again at the last handled position. */
  follow: (follower: Follower) => Subscription;
  /** One fast read. Null if the log is empty, or if the platform did not write its last event. @throws LogError unavailable */
  ping: () => Promise<Pick<Recorded, 'position' | 'at'> | null>;
  close: () => Promise<void>;
};

export type Subscription = {
  /** Resolves when the subscription has ended. */
  stop: () => Promise<void>;
  /** Every event up to here is handled; undefined if no position is known yet. */
  readonly position: () => Position | undefined;
  /** Resolves when the subscription ends: with its error, or with null if it was stopped. */
  readonly failure: Promise<Error | null>;
};

/**
 * 'conflict': another revision was expected. 'damaged': a stored record is unreadable. 'gone': the stream was tombstoned (deleted forever).
 * 'unavailable': a retry may succeed. 'wrong-request': a retry does not help. 'too-large': the events do not fit into one append.
 */
export type LogErrorKind = 'conflict' | 'damaged' | 'gone' | 'unavailable' | 'wrong-request' | 'too-large';

export class LogError extends Error {
  readonly kind: LogErrorKind;
  constructor(kind: LogErrorKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'LogError';
    this.kind = kind;
  }
}

export const isConflict = (error: unknown): boolean => error instanceof LogError && error.kind === 'conflict';

export const isUnreachable = (error: unknown): boolean => error instanceof LogError && error.kind === 'unavailable';
