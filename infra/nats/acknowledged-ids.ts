import type { Position, Recorded } from '../../domain/event.ts';
import type { AcknowledgementEvent } from '../../domain/runners/acknowledgement.ts';
import type { Log } from '../eventstore/event-log.ts';

/** The first 64 bits of a UUID: ids are random there, so a set of a million answers wrongly once in 10^13 questions. */
const keyOf = (id: string): bigint => BigInt(`0x${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}`);

/** A set of event ids, eight bytes each. */
export const idSet = () => {
  let keys = new BigUint64Array(1024);
  let size = 0;
  let sorted = true;
  const sort = (): void => {
    keys.subarray(0, size).sort();
    sorted = true;
  };
  return {
    add: (id: string): void => {
      if (size === keys.length) {
        const larger = new BigUint64Array(keys.length * 2);
        larger.set(keys);
        keys = larger;
      }
      keys[size++] = keyOf(id);
      sorted = false;
    },
    has: (id: string): boolean => {
      if (size === 0) return false;
      if (!sorted) sort();
      const key = keyOf(id);
      let low = 0;
      for (let high = size; low < high; ) {
        const middle = (low + high) >>> 1;
        if (keys[middle]! < key) low = middle + 1;
        else high = middle;
      }
      return low < size && keys[low] === key;
    },
  };
};

export type IdSet = ReturnType<typeof idSet>;

const eventTypes = ['DeliveriesAcknowledged', 'DeliveryDeadLettered'] as const satisfies AcknowledgementEvent['type'][];

const noted = (ids: IdSet, { type, data }: Recorded<AcknowledgementEvent>): void =>
  type === 'DeliveriesAcknowledged' ? data.deliveries.forEach(({ event_id }) => void ids.add(event_id)) : ids.add(data.event_id);

/** The messages that were done with behind a position, as the log knows it now. @throws what stopped the reading, or the signal's reason */
export const acknowledgedIdsSince = async (log: Log, from: Position | undefined, signal: AbortSignal): Promise<IdSet> => {
  const ids = idSet();
  const end = Promise.withResolvers<void>();
  const aborted = () => end.reject(signal.reason);
  signal.addEventListener('abort', aborted, { once: true });
  const subscription = log.follow({
    from,
    filter: { eventTypes },
    event: (event) => noted(ids, event as Recorded<AcknowledgementEvent>),
    caughtUp: end.resolve,
  });
  void subscription.failure.then((error) => error && end.reject(error));
  try {
    if (signal.aborted) aborted();
    await end.promise;
    return ids;
  } finally {
    signal.removeEventListener('abort', aborted);
    await subscription.stop();
  }
};
