import * as fs from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '../../durable-files.ts';
import { createLogBatch } from './log-batch.ts';
import { endOf } from './log-pages.ts';
import { createLogReader } from './log-reader.ts';
import { createLogWriter } from './log-writer.ts';
import { createSegment, openSegment, type Segment, setSegmentEnds } from './segment.ts';

export type Log = ReturnType<typeof openLog>;

const openSegments = (dir: string): Segment[] => {
  const names = fs
    .readdirSync(dir)
    .filter((name) => name.endsWith('.log'))
    .sort();
  const segments = setSegmentEnds(names.map((name) => openSegment(join(dir, name))));
  return segments.length > 0 ? segments : [createSegment(dir, 0)];
};

/**
 * Opens the log in a directory. The log consists of segment files. Batches are appended to the last file and synced.
 * Records can be read from any position.
 * @throws Error if a segment is damaged before its end
 */
export const openLog = (dir: string) => {
  makeDirectory(dir);
  const segments = openSegments(dir);
  const batch = createLogBatch();
  return {
    dir,
    segments,
    /** Returns the position at which the next event will be written. */
    end: (): number => endOf(segments),
    ...createLogReader(segments, batch),
    ...createLogWriter(dir, segments, batch),
  };
};
