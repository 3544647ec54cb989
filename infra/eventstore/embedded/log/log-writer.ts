import * as fs from 'node:fs';
import { isDiskFull, syncBytes, writeAll } from '../../../durable-files.ts';
import type { LogBatch } from './log-batch.ts';
import { endOf } from './log-pages.ts';
import { createPreallocation, type Preallocation } from './preallocation.ts';
import { createSegment, type Segment } from './segment.ts';

const SEGMENT_BYTES = 128 << 20;

const appendTo = (segment: Segment, bytes: Buffer, onDiskFull: () => void): void => {
  try {
    writeAll(segment.file, bytes, segment.length);
  } catch (error) {
    if (isDiskFull(error)) onDiskFull();
    throw error;
  }
  syncBytes(segment.file);
  segment.length += bytes.length;
};

export const createLogWriter = (dir: string, segments: Segment[], batch: LogBatch) => {
  let preallocation: Preallocation | undefined;
  const last = (): Segment => segments.at(-1)!;

  /** Cuts the preallocated zeros off the full segment. Must not be called while zeros are being written. */
  const startSegment = (): void => {
    segments.push(createSegment(dir, endOf(segments)));
    batch.clear();
    const full = preallocation;
    preallocation = undefined;
    full?.trim();
  };

  /** Starts a new segment if the last one is full. Returns the position of the first event. */
  const startBatch = (): number => {
    if (last().length >= SEGMENT_BYTES && !preallocation?.isWriting()) startSegment();
    const start = endOf(segments);
    batch.begin(start);
    return start;
  };

  const discardBatch = (): void => {
    fs.ftruncateSync(last().file, last().length);
    preallocation?.reset();
    batch.clear();
  };

  /**
   * If writing fails because the disk is full, nothing was written; after any other error, the content of the disk is unknown. Space is
   * preallocated only after small batches: large ones spread the cost of the file system's journal over many events.
   */
  const commit = (isSmall: boolean): void => {
    const segment = last();
    appendTo(segment, batch.contents(), discardBatch);
    preallocation ??= createPreallocation(segment);
    if (isSmall) preallocation.extend();
    else preallocation.noteGrowth();
  };

  return {
    startSegment,
    startBatch,
    commit,
    addEvent: batch.addEvent,
    /** Returns the position after the last event of the current batch, even if the batch is not written yet. */
    batchEnd: batch.end,
    /** Whether a batch of this many bytes can be written now. If not, the caller must wait for `whenWritable`. */
    canStartBatch: (bytes: number): boolean => preallocation === undefined || preallocation.fits(bytes),
    whenWritable: (): Promise<void> => preallocation?.whenIdle() ?? Promise.resolve(),
    close: async (): Promise<void> => {
      await preallocation?.stop();
      preallocation?.trim();
      for (const segment of segments) fs.closeSync(segment.file);
    },
  };
};
