import { basename, join } from 'node:path';
import { counted } from '../../../domain/counted.ts';
import { readUpTo } from '../../durable-files.ts';
import { examplesOf } from '../../logging/examples.ts';
import { printLine } from '../../logging/print-line.ts';
import { lockFile } from '../../process-lock.ts';
import { openIndex } from './index/stream-index.ts';
import { keyOf } from './index/stream-key.ts';
import { openLog } from './log/log.ts';
import {
  EMPTY_APPEND,
  flagsAt,
  HEADER_BYTES,
  isIntactAt,
  nameAt,
  OVERHEAD_BYTES,
  positionAt,
  revisionAt,
  sizeAt,
  typeAt,
  wireRevision,
} from './log/record.ts';
import { recordsEnd, SEGMENT_HEADER_BYTES, type Segment } from './log/segment.ts';
import { assertStoreDirectory } from './store-directory.ts';

const WINDOW_BYTES = 4 << 20;

type Finding = { isIntact: true; bytes: Buffer; at: number; size: number } | { isIntact: false; offset: number; bytes: Buffer };

const hasPlausibleSize = (bytes: Buffer, at: number): boolean =>
  sizeAt(bytes, at) >= OVERHEAD_BYTES && at + sizeAt(bytes, at) <= bytes.length;

/** Searches from offset `from` on. `start` is the file offset of `bytes`. */
const nextIntact = (segment: Segment, bytes: Buffer, start: number, from: number): number | undefined => {
  for (let at = from; at + OVERHEAD_BYTES <= bytes.length; at++) {
    const position = segment.packed ? positionAt(bytes, at) : segment.base + start + at;
    if (positionAt(bytes, at) === position && isIntactAt(bytes, at, position)) return at;
  }
  return undefined;
};

/** Zeros up to the end are space that a running or killed store has preallocated. */
const isPreallocated = ({ file, length }: Segment, offset: number): boolean =>
  readUpTo(file, offset, length - offset).every((byte) => byte === 0);

const findings = function* (segment: Segment): Generator<Finding> {
  const end = recordsEnd(segment);
  for (let offset = SEGMENT_HEADER_BYTES; offset < end; ) {
    const head = readUpTo(segment.file, offset, Math.min(HEADER_BYTES, end - offset));
    const size = head.length < HEADER_BYTES ? 0 : Math.min(sizeAt(head, 0), end - offset);
    const bytes = readUpTo(segment.file, offset, Math.min(Math.max(WINDOW_BYTES, size), end - offset));
    let at = 0;
    while (bytes.length - at >= OVERHEAD_BYTES && hasPlausibleSize(bytes, at)) {
      const position = segment.packed ? positionAt(bytes, at) : segment.base + offset + at;
      if (!isIntactAt(bytes, at, position)) break;
      yield { isIntact: true, bytes, at, size: sizeAt(bytes, at) };
      at += sizeAt(bytes, at);
    }
    const cutByWindow =
      offset + bytes.length < end &&
      bytes.length - at < WINDOW_BYTES / 2 &&
      (bytes.length - at < HEADER_BYTES || !hasPlausibleSize(bytes, at));
    if (at > 0 && (cutByWindow || at === bytes.length)) {
      offset += at;
      continue;
    }
    if (isPreallocated(segment, offset + at)) return;
    yield { isIntact: false, offset: offset + at, bytes: bytes.subarray(at) };
    offset += nextIntact(segment, bytes, offset, at + 1) ?? bytes.length;
  }
};

const printable = (bytes: Buffer): string => JSON.stringify(bytes.toString().slice(0, 200));

/** Describes a damaged event. The text contains as much as the header of the event's record allows. */
const describeDamage = (segment: Segment, { offset, bytes }: Extract<Finding, { isIntact: false }>): string => {
  const isComplete = bytes.length >= OVERHEAD_BYTES && hasPlausibleSize(bytes, 0);
  // A packed record's position is only in its header; accept it if it is within the segment.
  const position = segment.packed && isComplete ? positionAt(bytes, 0) : segment.base + offset;
  const isReadable = isComplete && positionAt(bytes, 0) === position && position > segment.base && position < segment.base + segment.length;
  if (!isReadable && segment.packed) return `damaged at byte ${offset} of ${basename(segment.path)}: no record header is readable there`;
  if (!isReadable) return `damaged at position ${position}: no record header is readable there`;
  return `damaged: event ${wireRevision(revisionAt(bytes, 0))} of stream ${printable(nameAt(bytes, 0))}, type ${printable(typeAt(bytes, 0))}, at position ${position}`;
};

type Report = { events: number; damage: string[] };

const verifyLog = (segments: Segment[], onEvent: (bytes: Buffer, at: number) => void): Report => {
  const report: Report = { events: 0, damage: [] };
  for (const segment of segments) {
    for (const found of findings(segment)) {
      if (!found.isIntact) report.damage.push(describeDamage(segment, found));
      else if ((flagsAt(found.bytes, found.at) & EMPTY_APPEND) === 0) {
        report.events++;
        onEvent(found.bytes, found.at);
      }
    }
  }
  return report;
};

/** Counts the events before the index's checkpoint that cannot be found through the index. */
const indexCheck = (dir: string) => {
  const index = openIndex(join(dir, 'index'));
  const checkpoint = index.checkpoint();
  let missing = 0;
  const check = (bytes: Buffer, at: number): void => {
    const position = positionAt(bytes, at);
    if (position >= checkpoint) return;
    const name = nameAt(bytes, at).toString();
    const known = [0, 1, 2].some((probe) => index.find(keyOf(name, probe), revisionAt(bytes, at)) === position);
    if (!known) missing++;
  };
  return { check, result: () => ({ missing, isIntact: index.isIntact() }) };
};

/** `index` is null if it was not checked, because the store is running. */
type StoreReport = Report & { readonly segments: number; readonly index: { readonly missing: number; readonly isIntact: boolean } | null };

const isStoreIntact = ({ damage, index }: StoreReport): boolean =>
  damage.length === 0 && (index === null || (index.missing === 0 && index.isIntact));

const reportLines = (dir: string, { events, damage, segments, index }: StoreReport, isVerbose: boolean): string[] => {
  const isIndexDamaged = index !== null && (index.missing > 0 || !index.isIntact);
  const repairIndex = `remove ${join(dir, 'index')}, and the next start will rebuild it`;
  const summary = `${counted(events, 'event')} in ${counted(segments, 'segment')} ${events === 1 ? 'is' : 'are'} intact`;
  return [
    ...examplesOf(damage, isVerbose),
    ...(isIndexDamaged ? [`the index is damaged (${counted(index.missing, 'event')} not found): ${repairIndex}`] : []),
    ...(index === null ? ['the index was not checked because the store is running'] : []),
    damage.length === 0 ? summary : `${summary}, ${counted(damage.length, 'place')} ${damage.length === 1 ? 'is' : 'are'} damaged`,
  ];
};

/**
 * Skips the index if the store is running. With `json`, prints one line of JSON. Returns the exit code: 0 intact, 1 damaged.
 * @throws Error with a one-line message for the operator if there is no store
 */
export const verifyStore = async (dir: string, { json = false, verbose = false } = {}): Promise<number> => {
  assertStoreDirectory(dir);
  const lock = lockFile(join(dir, 'lock'));
  const log = openLog(join(dir, 'log'));
  const index = lock ? indexCheck(dir) : undefined;
  const found = verifyLog(log.segments, index?.check ?? (() => {}));
  const report: StoreReport = { ...found, segments: log.segments.length, index: index?.result() ?? null };
  const isIntact = isStoreIntact(report);
  for (const line of json ? [JSON.stringify({ ok: isIntact, ...report })] : reportLines(dir, report, verbose)) printLine(line);
  await log.close();
  lock?.release();
  return isIntact ? 0 : 1;
};
