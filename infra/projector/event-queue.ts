import { withoutBytes } from '../../domain/audit/recorded-event.ts';
import { comparePositions, type Position, type Recorded } from '../../domain/event.ts';
import { EXCLUDED_CATEGORIES } from '../../projections/audit/audit-entry.ts';
import type { Batch } from './write-batch.ts';

/** The maximum number of events in one batch. While this many events are queued, the reader of the log waits. */
export const MAX_BATCH = 8_192;

/**
 * Returns the function that prepares events for these projections: it drops their bytes, of which projections use only
 * the hash of the leaf. The hash is computed only if one of the projections can store it: a projection of all categories.
 */
export const preparer = (isOfAllCategories: boolean): ((event: Recorded) => Recorded) =>
  isOfAllCategories ? (event) => withoutBytes(event, !EXCLUDED_CATEGORIES.has(event.category)) : (event) => withoutBytes(event, false);

/** A queue of events that have been read from the log but not written to the projections yet. */
export type EventQueue = {
  readonly size: () => number;
  /** Adds an event. If the queue is full, returns a promise. The reader must wait for this promise before it adds more events. */
  readonly add: (event: Recorded) => void | Promise<void>;
  /** Records that the log has been read up to this position, even if no further event of this subscription was found. */
  readonly advance: (position: Position) => void;
  /** Removes and returns the next batch of at most `max` events; null if there is nothing to process. */
  readonly take: (max: number) => Batch | null;
  /** Resolves when `take` has a batch to return, or when `wake` is called. */
  readonly arrival: () => Promise<void>;
  readonly wake: () => void;
  /** Resolves the promise that `add` has returned, so that the reader continues. */
  readonly release: () => void;
};

export const createEventQueue = (prepare: (event: Recorded) => Recorded): EventQueue => {
  let events: Recorded[] = [];
  let end: Position | null = null;
  let wake = () => {};
  let release = () => {};
  return {
    size: () => events.length,
    add: (event) => {
      events.push(prepare(event));
      end = event.position;
      wake();
      if (events.length < MAX_BATCH) return;
      return new Promise((resolve) => {
        release = resolve;
      });
    },
    advance: (position) => {
      if (end && comparePositions(position, end) <= 0) return;
      end = position;
      wake();
    },
    take: (max) => {
      const to = events.length > max ? events[max - 1]!.position : end;
      if (!to) return null;
      const batch = events.length > max ? events.splice(0, max) : events;
      if (batch === events) {
        events = [];
        end = null;
      }
      if (events.length < MAX_BATCH / 2) release();
      return { events: batch, to };
    },
    arrival: () =>
      new Promise((resolve) => {
        if (end) return resolve();
        wake = resolve;
      }),
    wake: () => wake(),
    release: () => release(),
  };
};
