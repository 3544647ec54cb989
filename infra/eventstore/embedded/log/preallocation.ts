import * as fs from 'node:fs';
import type { Segment } from './segment.ts';

const STEP_BYTES = 1 << 20;
const MIN_AHEAD_BYTES = 1 << 19;
const RETRY_DELAY_MS = 1_000;

const zeros = Buffer.alloc(STEP_BYTES);

/** Writes STEP_BYTES without blocking the event loop. */
const writeZeros = (file: number, at: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const done = (error: Error | null) => (error ? reject(error) : resolve());
    fs.write(file, zeros, 0, STEP_BYTES, at, (error, written) => {
      if (error || written < STEP_BYTES) done(error ?? new Error('short write'));
      else fs.fdatasync(file, done);
    });
  });

export type Preallocation = ReturnType<typeof createPreallocation>;

/**
 * Writes zeros after the log's end in the background. A batch then does not change the file's size, so its sync does not wait for the file
 * system's journal. If no zeros are left, an append extends the file.
 */
export const createPreallocation = (segment: Segment) => {
  /** The file offset up to which zeros or events have been written. */
  let end = segment.length;
  let writing: Promise<void> | undefined;
  let pausedUntil = 0;
  let isStopped = false;
  /**
   * Use a separate descriptor: the system reports a failed write only once per open file, so the sync of the zeros could receive an error
   * that the sync of a batch must see.
   */
  let file: number | undefined;

  const write = async (): Promise<void> => {
    try {
      file ??= fs.openSync(segment.path, 'r+');
      await writeZeros(file, end);
      end += STEP_BYTES;
    } catch {
      pausedUntil = Date.now() + RETRY_DELAY_MS;
    }
  };

  /** An append may have written beyond the preallocated zeros. */
  const noteGrowth = (): void => {
    end = Math.max(end, segment.length);
  };

  return {
    noteGrowth,
    extend: (): void => {
      noteGrowth();
      if (writing || isStopped || end - segment.length >= MIN_AHEAD_BYTES || Date.now() < pausedUntil) return;
      writing = write().then(() => {
        writing = undefined;
      });
    },
    /** Returns whether this many bytes can be appended now: no zeros are being written, or only after these bytes. */
    fits: (bytes: number): boolean => writing === undefined || segment.length + bytes <= end,
    /**
     * Must be called after the file is truncated to the segment's length. Preallocation then starts again from there,
     * because the zeros beyond it are gone.
     */
    reset: (): void => {
      end = segment.length;
    },
    isWriting: (): boolean => writing !== undefined,
    whenIdle: (): Promise<void> => writing ?? Promise.resolve(),
    /** Resolves when the running write is done. */
    stop: (): Promise<void> => {
      isStopped = true;
      return writing ?? Promise.resolve();
    },
    /** Must not be called while zeros are being written. */
    trim: (): void => {
      isStopped = true;
      if (file !== undefined) fs.closeSync(file);
      file = undefined;
      fs.ftruncateSync(segment.file, segment.length);
    },
  };
};
