import type { Recorded } from './event.ts';
import type { FieldError, RefusalCode } from './refusal.ts';

export const category = 'idempotency';

/** A stream with its revision after a request made a decision about it (see `transact`). */
export type StreamRevision = { stream: string; revision: number };

/**
 * What answers a repeat of a request with an Idempotency-Key. `touched`: streams about which decisions were made, in order; `found`: values
 * from outside these streams (see `sideEffect`); `members`: additional fields of the problem document.
 */
export type Outcome =
  | { kind: 'done'; touched: readonly StreamRevision[]; found?: readonly unknown[]; location: string | null; existed?: boolean }
  | { kind: 'refused'; code: RefusalCode; detail: string; errors?: readonly FieldError[]; members?: Readonly<Record<string, unknown>> };

export type IdempotencyEvent =
  | { type: 'IdempotencyKeyClaimed'; data: { route: string; body_digest: string } }
  | { type: 'IdempotencyKeyTaken'; data: object }
  | { type: 'IdempotencyKeyReleased'; data: object }
  | { type: 'IdempotencyKeyFinished'; data: Outcome };

export type Idempotency = { route: string; body_digest: string; claimed_at: string | null; outcome: Outcome | null };

export const initial: Idempotency = { route: '', body_digest: '', claimed_at: null, outcome: null };

export const evolve = (key: Idempotency, event: Recorded<IdempotencyEvent>): Idempotency => {
  switch (event.type) {
    case 'IdempotencyKeyClaimed':
      return { ...key, ...event.data, claimed_at: event.at };
    case 'IdempotencyKeyTaken':
      return { ...key, claimed_at: event.at };
    case 'IdempotencyKeyReleased':
      return { ...key, claimed_at: null };
    case 'IdempotencyKeyFinished':
      return { ...key, outcome: event.data };
  }
};

/** How long an unfinished request holds its key. After that, a repeat can claim it. */
const CLAIM_TIMEOUT_MS = 30_000;

/** Whether an unfinished request holds the key at the time `at` (RFC 3339). */
export const isClaimed = (key: Idempotency, at: string): boolean =>
  key.claimed_at !== null && Date.parse(at) - Date.parse(key.claimed_at) < CLAIM_TIMEOUT_MS;
