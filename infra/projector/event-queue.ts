import { comparePositions, type Position, type Recorded } from '../../domain/event.ts';
import type { Batch } from './write-batch.ts';

/** No batch holds more events, and the reader of the log waits while this many are queued. */
export const MAX_BATCH = 8_192;

const NO_BYTES = new Uint8Array(0);

/**
 * Drops the binary data of an event (a delivery body): no projection uses it, and thousands of events may be queued.
 */
export const withoutBytes = (event: Recorded): Recorded => (event.data instanceof Uint8Array ? { ...event, data: NO_BYTES } : event);

/** Events that have been read from the log and not been written yet. */
export type EventQueue = {
  readonly size: () => number;
  /** Adds an event. If the queue is full, returns a promise for which the reader has to wait. */
  readonly add: (event: Recorded) => void | Promise<void>;
  /** Notes that the log has been read up to this position, though no event there concerns the subscription. */
  readonly advance: (position: Position) => void;
  /** Removes the next batch of at most `max` events; null if nothing has arrived. */
  readonly take: (max: number) => Batch | null;
  /** Resolves when there is something to take, or after `wake`. */
  readonly arrival: () => Promise<void>;
  readonly wake: () => void;
  /** Lets a waiting reader continue. */
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
      const taken = events.length > max ? events.splice(0, max) : events;
      if (taken === events) {
        events = [];
        end = null;
      }
      if (events.length < MAX_BATCH / 2) release();
      return { events: taken, to };
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
