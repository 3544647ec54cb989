import type { DomainEvent, Metadata, Position, Recorded } from '../../domain/event.ts';

/** An event to append. `data` is stored as JSON, or unchanged if it is bytes. `id` is a UUID. */
export type NewEvent = { id: string; type: string; data: DomainEvent['data'] | Uint8Array; meta: Metadata };

/**
 * Revision and position of the last appended event. An append that had been written before returns those of the first
 * time.
 */
export type Appended = { revision: number; position: Position };

/** The revision of the stream's last event that an append expects; 'none' expects that the stream does not exist. */
export type Expected = 'none' | number;

export type Filter = { streamPrefixes: readonly string[] } | { eventTypes: readonly string[] };

export type Follower = {
  /** The first event delivered is the one after this position. Absent: the first of the log. 'end': only new events. */
  from?: Position | 'end' | undefined;
  filter?: Filter | undefined;
  /**
   * Called in log order. If it returns a promise, the next event waits for it. An error ends the subscription with that
   * error.
   */
  event: (event: Recorded) => void | Promise<void>;
  /** Every event up to this position was considered, including those that the filter rejected. */
  checkpoint?: (position: Position) => void | Promise<void>;
  /** Called when all stored events were delivered; those that follow are new. */
  caughtUp?: () => void;
};

/**
 * The port to the event log. Implemented by the EventStoreDB client (client.ts) and in memory
 * (test/fixtures/memory-log.ts).
 */
export type Log = {
  /**
   * Appends all events or none. Retries with the same ids at the same revision until `deadline` (ms, default 10,000).
   * @throws LogError conflict (the stream is not at `expected`), gone (it was tombstoned), unavailable, wrong-request,
   * too-large, damaged
   */
  append: (stream: string, expected: Expected, events: readonly NewEvent[], options?: { deadline?: number }) => Promise<Appended>;
  /**
   * The stream's events from a revision on, oldest first; none if the stream does not exist.
   * @throws LogError gone, unavailable, damaged
   */
  read: (stream: string, options?: { from?: number; limit?: number }) => AsyncIterable<Recorded>;
  /** The stream's last event, or null if it has none. @throws LogError gone, unavailable, damaged */
  last: (stream: string) => Promise<Recorded | null>;
  /**
   * All application events (no type that begins with `$`), from the position of an event on, inclusive.
   * @throws LogError unavailable, damaged
   */
  readAll: (options?: { from?: Position; backwards?: boolean; limit?: number }) => AsyncIterable<Recorded>;
  /** Follows $all until stopped. After a connection error it resubscribes at its last position, with back-off. */
  follow: (follower: Follower) => Subscription;
  /** One cheap round trip. @throws LogError unavailable */
  ping: () => Promise<void>;
  close: () => Promise<void>;
};

export type Subscription = {
  /** Resolves when the subscription has ended. */
  stop: () => Promise<void>;
  /** Up to here every event is handled; undefined before the first. */
  readonly position: () => Position | undefined;
  /** Resolves when the subscription ends: with the error that ended it, or null if it was stopped. */
  readonly failure: Promise<Error | null>;
};

/**
 * 'damaged': a stored record is unreadable; 'gone': the stream was tombstoned; 'unavailable': a retry may succeed;
 * 'too-large': for one append.
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
