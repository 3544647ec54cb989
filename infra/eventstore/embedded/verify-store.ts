import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readUpTo } from '../../durable-files.ts';
import { lockFile } from '../../process-lock.ts';
import { openLog } from './log.ts';
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
} from './record.ts';
import { recordsEnd, SEGMENT_HEADER_BYTES, type Segment } from './segment.ts';
import { openIndex } from './stream-index.ts';
import { keyOf } from './stream-key.ts';

const WINDOW = 4 << 20;

/** What lies at an offset: a sound record with its bytes, or damage up to an offset. */
type Finding = { sound: true; bytes: Buffer; at: number; size: number } | { sound: false; offset: number; bytes: Buffer };

const plausible = (bytes: Buffer, at: number): boolean => sizeAt(bytes, at) >= OVERHEAD_BYTES && at + sizeAt(bytes, at) <= bytes.length;

/** The next offset in the window at which a sound record lies. */
const resume = (segment: Segment, bytes: Buffer, start: number, from: number): number | undefined => {
  for (let at = from; at + OVERHEAD_BYTES <= bytes.length; at++) {
    const position = segment.packed ? positionAt(bytes, at) : segment.base + start + at;
    if (positionAt(bytes, at) === position && isIntactAt(bytes, at, position)) return at;
  }
  return undefined;
};

/** Zeros to the end: room that a running or killed store has made. */
const isRoom = ({ file, length }: Segment, offset: number): boolean => readUpTo(file, offset, length - offset).every((byte) => byte === 0);

const findings = function* (segment: Segment): Generator<Finding> {
  const end = recordsEnd(segment);
  for (let offset = SEGMENT_HEADER_BYTES; offset < end; ) {
    const head = readUpTo(segment.file, offset, Math.min(HEADER_BYTES, end - offset));
    const size = head.length < HEADER_BYTES ? 0 : Math.min(sizeAt(head, 0), end - offset);
    const bytes = readUpTo(segment.file, offset, Math.min(Math.max(WINDOW, size), end - offset));
    let at = 0;
    while (bytes.length - at >= OVERHEAD_BYTES && plausible(bytes, at)) {
      const position = segment.packed ? positionAt(bytes, at) : segment.base + offset + at;
      if (!isIntactAt(bytes, at, position)) break;
      yield { sound: true, bytes, at, size: sizeAt(bytes, at) };
      at += sizeAt(bytes, at);
    }
    const cutByWindow =
      offset + bytes.length < end && bytes.length - at < WINDOW / 2 && (bytes.length - at < HEADER_BYTES || !plausible(bytes, at));
    if (at > 0 && (cutByWindow || at === bytes.length)) {
      offset += at;
      continue;
    }
    if (isRoom(segment, offset + at)) return;
    yield { sound: false, offset: offset + at, bytes: bytes.subarray(at) };
    offset += resume(segment, bytes, offset, at + 1) ?? bytes.length;
  }
};

const printable = (bytes: Buffer): string => JSON.stringify(bytes.toString().slice(0, 200));

/** Names the harmed event as far as its head can still be read. */
const described = (segment: Segment, { offset, bytes }: Extract<Finding, { sound: false }>): string => {
  const whole = bytes.length >= OVERHEAD_BYTES && plausible(bytes, 0);
  // A packed segment's records say themselves where they lie: believed where it is a place in the segment.
  const position = segment.packed && whole ? positionAt(bytes, 0) : segment.base + offset;
  const readable = whole && positionAt(bytes, 0) === position && position > segment.base && position < segment.base + segment.length;
  if (!readable && segment.packed) return `damaged at byte ${offset} of ${basename(segment.path)}: no record's head can be read there`;
  if (!readable) return `damaged at position ${position}: no record's head can be read there`;
  return `damaged: event ${wireRevision(revisionAt(bytes, 0))} of stream ${printable(nameAt(bytes, 0))}, type ${printable(typeAt(bytes, 0))}, at position ${position}`;
};

type Report = { events: number; damage: string[] };

const verifyLog = (segments: Segment[], eachEvent: (bytes: Buffer, at: number) => void): Report => {
  const report: Report = { events: 0, damage: [] };
  for (const segment of segments) {
    for (const found of findings(segment)) {
      if (!found.sound) report.damage.push(described(segment, found));
      else if ((flagsAt(found.bytes, found.at) & EMPTY_APPEND) === 0) {
        report.events++;
        eachEvent(found.bytes, found.at);
      }
    }
  }
  return report;
};

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Every event below the index's checkpoint has to be found where it lies. */
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
  return { check, done: () => ({ missing, sound: index.isIntact() }) };
};

/** Checks every record of a store's log, and the index where the store does not run; prints what it finds. @returns the exit code: 0 sound, 1 damaged */
export const verifyStore = async (dir: string): Promise<number> => {
  if (!existsSync(join(dir, 'log'))) {
    say(`there is no store in ${dir}`);
    return 2;
  }
  const lock = lockFile(join(dir, 'lock'));
  const log = openLog(join(dir, 'log'));
  const index = lock ? indexCheck(dir) : undefined;
  const { events, damage } = verifyLog(log.segments, index?.check ?? (() => {}));
  for (const line of damage) say(line);
  const { missing, sound } = index?.done() ?? { missing: 0, sound: true };
  if (missing > 0 || !sound)
    say(`the index is harmed (${missing} events not found by it): remove ${join(dir, 'index')}, the next start makes it anew`);
  if (!lock) say('the store is running: its index was not checked');
  say(
    `${events} events in ${log.segments.length} segments${damage.length === 0 ? ' are sound' : ` are sound, ${damage.length} places are damaged`}`,
  );
  await log.close();
  lock?.release();
  return damage.length === 0 && missing === 0 && sound ? 0 : 1;
};
