import * as fs from 'node:fs';
import type { Segment } from './segment.ts';

const STEP = 1 << 20;
const AHEAD = 1 << 19;
const PAUSE_AFTER_FAILURE_MS = 1_000;

export type Preallocation = ReturnType<typeof createPreallocation>;

const zeros = Buffer.alloc(STEP);

/**
 * Room behind the log's end, written with zeros before it is needed: a batch then changes no file's size, and its sync does not wait for the file
 * system's journal. Beside appends, on other threads; what is not there in time is simply written to the file's end.
 */
export const createPreallocation = (segment: Segment) => {
  let until = segment.length;
  let filling: Promise<void> | undefined;
  let pausedUntil = 0;
  let closed = false;
  /**
   * A file of its own, opened when it is needed: the system tells of a write that failed once per open file, and the room's sync, which may come
   * first, must not take from a batch's what that has to know.
   */
  let file: number | undefined;

  const write = (at: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const done = (error: Error | null) => (error ? reject(error) : resolve());
      file ??= fs.openSync(segment.path, 'r+');
      const own = file;
      fs.write(own, zeros, 0, STEP, at, (error, written) => {
        if (error || written < STEP) done(error ?? new Error('short write'));
        else fs.fdatasync(own, done);
      });
    });

  const fill = async (): Promise<void> => {
    try {
      await write(until);
      until += STEP;
    } catch {
      pausedUntil = Date.now() + PAUSE_AFTER_FAILURE_MS;
    }
    filling = undefined;
  };

  /** The log has grown, perhaps beyond the room. */
  const passed = (): void => {
    until = Math.max(until, segment.length);
  };

  /** Begins to write more room where little is left. */
  const provide = (): void => {
    passed();
    if (filling || closed || until - segment.length >= AHEAD || Date.now() < pausedUntil) return;
    filling = fill();
  };

  return {
    provide,
    passed,
    /** Whether so many bytes can be written now without meeting zeros that are on their way. */
    fits: (bytes: number): boolean => filling === undefined || segment.length + bytes <= until,
    /** After the file was cut to the segment's length. */
    lost: (): void => {
      until = segment.length;
    },
    busy: (): boolean => filling !== undefined,
    quiet: (): Promise<void> => filling ?? Promise.resolve(),
    /** Nothing more is written from now on; what is on its way is waited for. */
    stop: (): Promise<void> => {
      closed = true;
      return filling ?? Promise.resolve();
    },
    /** The file gets its true length; nothing may be on its way. */
    trim: (): void => {
      closed = true;
      if (file !== undefined) fs.closeSync(file);
      file = undefined;
      fs.ftruncateSync(segment.file, segment.length);
    },
  };
};
