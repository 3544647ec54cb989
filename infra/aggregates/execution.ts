import { randomUUID } from 'node:crypto';
import type { StreamRevision } from '../../domain/idempotency-key.ts';

/** How a request is run: for the first time, again after a crash, or only to create its response again. */
export type Execution = {
  /** A secret text from which the ids of events, the ids of new resources and new secrets are derived. */
  readonly seed: string;
  /**
   * Whether a repeat may run with the same seed. If so, ids and secrets are derived from it, and stay the same; if not, they are random.
   */
  readonly repeatable: boolean;
  /** Whether an earlier run of this request may have appended events. */
  readonly resumed: boolean;
  /**
   * Null if this run does the work. Otherwise an earlier run has done it, and this one only creates the response again: the streams of its
   * transactions, each with its revision after the transaction.
   */
  readonly replay: readonly StreamRevision[] | null;
  /** The streams of this run's transactions, in order, each at its revision after the transaction. */
  readonly touched: StreamRevision[];
  /** The results of the calls of `sideEffect`, in order. A repeated run starts with the results of the first run. */
  readonly sideEffects: unknown[];
};

export const newExecution = (): Execution => ({
  seed: randomUUID(),
  repeatable: false,
  resumed: false,
  replay: null,
  touched: [],
  sideEffects: [],
});
