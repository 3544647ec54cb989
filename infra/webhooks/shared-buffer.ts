import type { BodyBuffer } from '../../commands/webhooks/webhook-ports.ts';
import { retryLater } from './record-delivery.ts';

/** The most memory that large bodies may use in one process. Five bodies of the largest size fit. */
const MAX_BUFFERED_BYTES = 128 * 1024 * 1024;

/**
 * Allocates memory for large bodies, which is shared with the worker thread. All bodies use ranges of one buffer, which
 * is created for the first body and then reused. With one SharedArrayBuffer per body, memory could grow without limit,
 * because each is freed only after the garbage collectors of both threads have run.
 * @throws Refusal unavailable if no free range is large enough
 */
export const sharedBuffer = (maxBytes = MAX_BUFFERED_BYTES): ((bytes: number) => BodyBuffer) => {
  let memory: SharedArrayBuffer | undefined;
  /** The ranges in use, in ascending order. */
  let ranges: readonly { readonly from: number; readonly to: number }[] = [];

  const findGap = (bytes: number): number | null => {
    let from = 0;
    for (const range of ranges) {
      if (range.from - from >= bytes) return from;
      from = range.to;
    }
    return maxBytes - from >= bytes ? from : null;
  };

  return (bytes) => {
    const from = findGap(bytes);
    if (from === null) throw retryLater();
    memory ??= new SharedArrayBuffer(maxBytes);
    const allocated = { from, to: from + bytes };
    ranges = [...ranges, allocated].sort((a, b) => a.from - b.from);
    const release = (): void => {
      ranges = ranges.filter((range) => range !== allocated);
    };
    return { bytes: new Uint8Array(memory, from, bytes), release };
  };
};
