import { randomUUID } from 'node:crypto';
import type { StreamRevision } from '../../domain/idempotency-key.ts';

/** How a request is run: for the first time, again after a crash, or only to render its response again. */
export type Execution = {
  /** Event ids, new ids and secrets derive from this secret text. */
  readonly seed: string;
  /**
   * Whether the same seed may be used again, so that ids and secrets must be derived from it instead of being random.
   */
  readonly repeatable: boolean;
  /** Whether an earlier run may have appended events. */
  readonly resumed: boolean;
  /**
   * The streams at the revisions at which the first run left them, if the response is only rendered again; nothing is
   * appended then.
   */
  readonly replay: readonly StreamRevision[] | null;
  /** The streams that this run has written or read for a transaction, in order. */
  readonly touched: StreamRevision[];
  /** The results of `sideEffect`, in order. A repeat begins with those of the first run. */
  readonly sideEffects: unknown[];
};

/** An execution of a request that is not repeated. */
export const newExecution = (): Execution => ({
  seed: randomUUID(),
  repeatable: false,
  resumed: false,
  replay: null,
  touched: [],
  sideEffects: [],
});
