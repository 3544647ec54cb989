import type { Wide } from './encoding/protobuf.ts';
import type { ProposedEvent } from './log/record.ts';

export const NO_STREAM = -1;
export const ANY = -2;
export const STREAM_EXISTS = -4;

/** `expected` is a revision, or one of the constants above. */
export type AppendRequest = { kind: 'append' | 'delete' | 'tombstone'; stream: string; expected: Wide; events: ProposedEvent[] };

export type Outcome =
  /** `position` is undefined if this request repeats an earlier append whose last event is no longer visible. */
  | { kind: 'done'; revision: number; position: number | undefined }
  | { kind: 'wrong'; current: number }
  | { kind: 'deleted' }
  | { kind: 'failed'; reason: string }
  /** A record that is needed for the decision is damaged. */
  | { kind: 'damaged'; reason: string };

/** The outcome of a request; 'late' if its deadline had passed before the writer came to it. */
export type AppendResult = Outcome | { kind: 'late' };
