import type { BodyBuffer } from '../../commands/webhooks/receive-delivery.ts';
import { retryLater } from './record-delivery.ts';

/** So many bytes of large bodies a process holds at once: five of the largest. */
const MAX_BUFFERED_BYTES = 128 * 1024 * 1024;

/**
 * Memory for large bodies, shared by threads. It is one piece, made with the first of them and used again: what two threads have seen is
 * freed when both happen to collect it, which no bound survives. @throws Refusal unavailable where there is no room
 */
export const sharedBuffer = (most = MAX_BUFFERED_BYTES): ((bytes: number) => BodyBuffer) => {
  let memory: SharedArrayBuffer | undefined;
  /** In order. */
  let places: readonly { readonly from: number; readonly to: number }[] = [];

  const gapOf = (bytes: number): number | null => {
    let from = 0;
    for (const place of places) {
      if (place.from - from >= bytes) return from;
      from = place.to;
    }
    return most - from >= bytes ? from : null;
  };

  return (bytes) => {
    const from = gapOf(bytes);
    if (from === null) throw retryLater();
    memory ??= new SharedArrayBuffer(most);
    const mine = { from, to: from + bytes };
    places = [...places, mine].sort((a, b) => a.from - b.from);
    const leave = (): void => {
      places = places.filter((place) => place !== mine);
    };
    return { bytes: new Uint8Array(memory, from, bytes), leave };
  };
};
