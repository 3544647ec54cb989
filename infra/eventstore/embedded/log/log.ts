import * as fs from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '../../../durable-files.ts';
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

/** Batches are appended to the last segment file and synced. @throws Error if a segment is damaged before its end */
export const openLog = (dir: string) => {
  makeDirectory(dir);
  const segments = openSegments(dir);
  const batch = createLogBatch();
  return {
    dir,
    segments,
    end: (): number => endOf(segments),
    ...createLogReader(segments, batch),
    ...createLogWriter(dir, segments, batch),
  };
};
