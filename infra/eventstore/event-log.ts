import type { DomainEvent, Metadata, Position, Recorded } from '../../domain/event.ts';

/** An event on its way into the log: JSON data, or somebody's bytes as they are. `id` is a UUID. */
export type NewEvent = { id: string; type: string; data: DomainEvent['data'] | Uint8Array; meta: Metadata };

/** Revision and position of the last event appended; a repeat that met its own first write answers with that write’s. */
export type Appended = { revision: number; position: Position };

/** What an append expects: no stream yet, or the revision of its last event. */
export type Expected = 'none' | number;

export type Filter = { streamPrefixes: readonly string[] } | { eventTypes: readonly string[] };

export type Follower = {
  /** Exclusive; absent: from the beginning of the log. 'end': only what comes from now on. */
  from?: Position | 'end' | undefined;
  filter?: Filter | undefined;
  /** Called in log order; the next event waits for a promise that it returns. A rejection ends the subscription with that error. */
  event: (event: Recorded) => void | Promise<void>;
  /** The log was considered up to here though nothing passed the filter. */
  checkpoint?: (position: Position) => void | Promise<void>;
  /** The live end was reached. */
  caughtUp?: () => void;
};

/** The one way to the log. Implemented over the client (client.ts) and in memory (test/fixtures/memory-log.ts). */
export type Log = {
  /**
   * Appends all or nothing. Repeats itself with the same ids at the same revision until `deadline` (ms, default 10,000).
   * @throws Conflict where the stream is not at `expected` · Gone where it was tombstoned · Unavailable · WrongRequest
   */
  append: (stream: string, expected: Expected, events: readonly NewEvent[], options?: { deadline?: number }) => Promise<Appended>;
  /** The stream's events from a revision on, oldest first; none where there is no such stream. @throws Gone, Unavailable */
  read: (stream: string, options?: { from?: number; limit?: number }) => AsyncIterable<Recorded>;
  /** The stream's last event; null where there is none. */
  last: (stream: string) => Promise<Recorded | null>;
  /** Application events (none whose type begins with `$`) of the whole log, from a position that an event has (inclusive). */
  readAll: (options?: { from?: Position; backwards?: boolean; limit?: number }) => AsyncIterable<Recorded>;
  /** Follows $all for ever: resubscribes from its last position after errors, with back-off. */
  follow: (follower: Follower) => Subscription;
  /** One cheap round trip. @throws Unavailable */
  ping: () => Promise<void>;
  close: () => Promise<void>;
};

export type Subscription = {
  stop: () => Promise<void>;
  readonly position: () => Position | undefined;
  readonly failure: Promise<Error | null>;
};

/** Why the log did not do as asked: the table of notes on a real node's answers, as four kinds; what it holds is harmed; more than one append takes. */
export type LogErrorKind = 'conflict' | 'damaged' | 'gone' | 'unavailable' | 'wrong-request' | 'too-large';

export class LogError extends Error {
  readonly kind: LogErrorKind;
  constructor(kind: LogErrorKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'LogError';
    this.kind = kind;
  }
}
