import type { DomainEvent, Metadata, Position, Recorded } from '../../domain/event.ts';

/** An event to append. `data` is stored as JSON or, if it is bytes, unchanged. `id` is a UUID. */
export type NewEvent = { id: string; type: string; data: DomainEvent['data'] | Uint8Array; meta: Metadata };

/**
 * The revision and position of the last appended event. If an earlier attempt has already written the events, these are
 * the values from that attempt.
 */
export type Appended = { revision: number; position: Position };

/** The expected state of the stream: the revision of its last event, or 'none' if the stream must not exist. */
export type Expected = 'none' | number;

/**
 * Selects events by stream or type. `streamPattern` is a regular expression that the name of the stream must match; the
 * server applies it.
 */
export type Filter = { streamPrefixes: readonly string[] } | { eventTypes: readonly string[] } | { streamPattern: string };

export type Follower = {
  /**
   * The log position after which delivery starts. If absent, delivery starts with the first event of the log. If it is
   * 'end', only new events are delivered.
   */
  from?: Position | 'end' | undefined;
  filter?: Filter | undefined;
  /**
   * Called for each event, in log order. If it returns a promise, the next event is delivered after the promise has
   * resolved. If it throws or the promise rejects, the subscription ends with that error.
   */
  event: (event: Recorded) => void | Promise<void>;
  /** Called when every event up to this position was either delivered or rejected by the filter. */
  checkpoint?: (position: Position) => void | Promise<void>;
  /** Called when all events stored so far have been delivered. Every event after that is new. */
  caughtUp?: () => void;
};

/**
 * The interface of the event log. It is implemented with the EventStoreDB client (client.ts) and in memory
 * (test/fixtures/memory-log.ts).
 */
export type Log = {
  /**
   * Appends all events or none. While the store is unavailable, tries again for up to `deadline` ms (10,000 if absent),
   * with the same event ids and the same expected revision. With `retry: false`, tries only once; the store may then
   * write the events even after `deadline`.
   * @throws LogError conflict (the stream is not at `expected`), gone (it was tombstoned), unavailable, wrong-request,
   * too-large, damaged
   */
  append: (
    stream: string,
    expected: Expected,
    events: readonly NewEvent[],
    options?: { deadline?: number; retry?: boolean },
  ) => Promise<Appended>;
  /**
   * Yields the events of the stream, oldest first, from the revision `from` on (from the first event if absent). With
   * `backwards`, yields them newest first, from the revision `from` back (from the last event if absent). Yields
   * nothing if the stream does not exist.
   * @throws LogError gone, unavailable, damaged
   */
  read: (stream: string, options?: { from?: number; limit?: number; backwards?: boolean }) => AsyncIterable<Recorded>;
  /**
   * Deletes a stream forever: its name cannot be used again, and the store frees the disk space when it is scavenged.
   * Does nothing if the stream is already tombstoned.
   * @throws LogError unavailable, damaged
   */
  tombstone: (stream: string) => Promise<void>;
  /**
   * Hides the stream's events before this revision forever. The store frees the disk space of these events when it is
   * scavenged.
   * @throws LogError gone, unavailable, damaged
   */
  truncate: (stream: string, before: number) => Promise<void>;
  /** Returns the stream's last event; null if it has none. @throws LogError gone, unavailable, damaged */
  last: (stream: string) => Promise<Recorded | null>;
  /**
   * Yields all application events: those whose type does not begin with `$`. If `from` is set, it must be the position
   * of an event, and reading starts there. Only a forward read includes that event.
   * @throws LogError unavailable, damaged
   */
  readAll: (options?: { from?: Position; backwards?: boolean; limit?: number }) => AsyncIterable<Recorded>;
  /**
   * Delivers the events of the log to the follower until it is stopped. After a connection error, it waits for a short
   * time and subscribes again at the last handled position.
   */
  follow: (follower: Follower) => Subscription;
  /**
   * Checks with one fast read that the store answers. Returns the last event of the log; null if the log is empty, or
   * if the platform did not write its last event.
   * @throws LogError unavailable
   */
  ping: () => Promise<Pick<Recorded, 'position' | 'at'> | null>;
  close: () => Promise<void>;
};

export type Subscription = {
  /** Ends the subscription. Resolves when it has ended. */
  stop: () => Promise<void>;
  /**
   * Returns the log position up to which the follower has handled every event; undefined if no position is known yet.
   */
  readonly position: () => Position | undefined;
  /** Resolves when the subscription ends: with the error that ended it, or with null if it was stopped. */
  readonly failure: Promise<Error | null>;
};

/**
 * 'conflict': the append expects another revision than the present one. 'damaged': a stored record is unreadable.
 * 'gone': the stream was tombstoned (deleted forever). 'unavailable': a retry may succeed. 'wrong-request': any other
 * error; a retry does not help. 'too-large': the events do not fit into one append.
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

/** Returns whether an error means that the log cannot be reached now. */
export const isUnreachable = (error: unknown): boolean => error instanceof LogError && error.kind === 'unavailable';
