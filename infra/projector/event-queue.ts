import { comparePositions, type Position, type Recorded } from '../../domain/event.ts';
import type { Batch } from './write-batch.ts';

/** The maximum number of events in one batch. While this many events are queued, the reader of the log waits. */
export const MAX_BATCH = 8_192;

const NO_BYTES = new Uint8Array(0);

/**
 * Returns the event without its binary data (the body of a delivery), which no projection uses. While thousands of
 * events are queued, these data would take much memory.
 */
export const withoutBytes = (event: Recorded): Recorded => (event.data instanceof Uint8Array ? { ...event, data: NO_BYTES } : event);

/** A queue of events that have been read from the log but not written to the projections yet. */
export type EventQueue = {
  readonly size: () => number;
  /**
   * Adds an event. If the queue is full, returns a promise. The reader must wait for this promise before it adds more
   * events.
   */
  readonly add: (event: Recorded) => void | Promise<void>;
  /**
   * Records that the log has been read up to this position, even if no further event of this subscription was found.
   */
  readonly advance: (position: Position) => void;
  /** Removes and returns the next batch of at most `max` events; null if there is nothing to process. */
  readonly take: (max: number) => Batch | null;
  /** Resolves when `take` has a batch to return, or when `wake` is called. */
  readonly arrival: () => Promise<void>;
  readonly wake: () => void;
  /** Resolves the promise that `add` has returned, so that the reader continues. */
  readonly release: () => void;
};

export const createEventQueue = (): EventQueue => {
  let events: Recorded[] = [];
  let end: Position | null = null;
  let wake = () => {};
  let release = () => {};
  return {
    size: () => events.length,
    add: (event) => {
      events.push(withoutBytes(event));
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
