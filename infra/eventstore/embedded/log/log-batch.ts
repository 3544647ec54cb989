import type { Page } from './log-pages.ts';
import { isIntactAt, maxRecordSize, type ProposedEvent, type RecordLocation, sizeAt, writeRecord } from './record.ts';

const INITIAL_BYTES = 4 << 20;

export type LogBatch = ReturnType<typeof createLogBatch>;

/** After the commit, the records stay readable until the next batch begins, because live subscriptions read them here. */
export const createLogBatch = () => {
  let bytes = Buffer.allocUnsafe(INITIAL_BYTES);
  /** The log position of the batch's first byte; Infinity if there is no batch. */
  let start = Number.POSITIVE_INFINITY;
  let used = 0;

  const begin = (position: number): void => {
    if (bytes.length > INITIAL_BYTES) bytes = Buffer.allocUnsafe(INITIAL_BYTES);
    start = position;
    used = 0;
  };

  const clear = (): void => {
    start = Number.POSITIVE_INFINITY;
    used = 0;
  };

  /** Sets `position` and `batchStart` of `location`. The event can be read before the commit. Returns its position. */
  const addEvent = (event: ProposedEvent, location: RecordLocation): number => {
    const size = maxRecordSize(event, location.stream.length);
    if (used + size > bytes.length) bytes = Buffer.concat([bytes], Math.max(bytes.length * 2, used + size));
    const position = start + used;
    location.position = position;
    location.batchStart = start;
    used += writeRecord(bytes, used, event, location);
    return position;
  };

  /** Returns complete records, starting at a position. The result is a view, which the next batch overwrites. */
  const page = (position: number, size: number): Page => {
    const from = Math.min(position - start, used);
    let to = from;
    while (to < used && (to === from || to - from < size)) to += sizeAt(bytes, to);
    return { bytes: bytes.subarray(from, to), next: start + to };
  };

  /** Undefined if no record begins there. */
  const record = (position: number): Buffer | undefined => {
    const rest = bytes.subarray(Math.min(position - start, used), used);
    return isIntactAt(rest, 0, position) ? rest.subarray(0, sizeAt(rest, 0)) : undefined;
  };

  return {
    begin,
    clear,
    addEvent,
    page,
    record,
    contains: (position: number): boolean => position >= start,
    contents: (): Buffer => bytes.subarray(0, used),
    end: (): number => start + used,
  };
};
