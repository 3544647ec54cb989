import { crc32 } from 'node:zlib';
import { readVarint, type Span, varintSize, type Wide, writeVarint } from './protobuf.ts';

/** Bytes of a record before its frame. The frame is the event as a reader gets it, a framed ReadResp, so that reading is copying. */
export const HEADER_BYTES = 56;
const TRAILER_BYTES = 4;
export const OVERHEAD_BYTES = HEADER_BYTES + TRAILER_BYTES;

export const LAST_OF_APPEND = 1;
export const JSON_DATA = 2;
export const LINK = 4;
export const TOMBSTONE = 8;
/** No event: the place of an append of nothing, which can be read from like every other. */
export const EMPTY_APPEND = 16;

/** The revision of a tombstone in the index; on the wire it is 2^63-1. */
export const TOMBSTONE_REVISION = Number.MAX_SAFE_INTEGER;
const TOMBSTONE_ON_WIRE = 2n ** 63n - 1n;

export const wireRevision = (revision: number): Wide => (revision === TOMBSTONE_REVISION ? TOMBSTONE_ON_WIRE : revision);

/** An event on its way in. `id` is 36 bytes of lower-case text. */
export type ProposedEvent = { id: Span; type: Span; json: boolean; data: Span; custom: Span };

export type RecordLocation = { stream: Buffer; revision: number; position: number; created: number; batchStart: number; flags: number };

const lengths = new Map<boolean, Buffer>();
const contentEntry = (json: boolean): Buffer => {
  const known = lengths.get(json);
  if (known) return known;
  const value = json ? 'application/json' : 'application/octet-stream';
  const entry = Buffer.concat([
    Buffer.from([0x0a, 12]),
    Buffer.from('content-type'),
    Buffer.from([0x12, value.length]),
    Buffer.from(value),
  ]);
  const whole = Buffer.concat([Buffer.from([0x32, entry.length]), entry]);
  lengths.set(json, whole);
  return whole;
};

let createdAt = Number.NaN;
let createdBytes = Buffer.alloc(0);
const createdEntry = (ms: number): Buffer => {
  if (ms === createdAt) return createdBytes;
  const ticks = `${ms}0000`;
  createdAt = ms;
  createdBytes = Buffer.from(
    `\x32${String.fromCharCode(11 + ticks.length)}\x0a\x07created\x12${String.fromCharCode(ticks.length)}${ticks}`,
    'latin1',
  );
  return createdBytes;
};

const lengthed = (size: number): number => 1 + varintSize(size) + size;

type Sizes = { ident: number; type: number; recorded: number; event: number; response: number; record: number };

const sizesOf = (event: ProposedEvent, { stream, revision, position }: RecordLocation): Sizes => {
  const ident = lengthed(stream.length);
  const type = 6 + lengthed(event.type.length);
  const at = 1 + varintSize(position);
  const recorded =
    40 +
    lengthed(ident) +
    (revision === 0 ? 0 : 1 + varintSize(wireRevision(revision))) +
    2 * at +
    lengthed(type) +
    createdBytes.length +
    contentEntry(event.json).length +
    (event.custom.length === 0 ? 0 : lengthed(event.custom.length)) +
    (event.data.length === 0 ? 0 : lengthed(event.data.length));
  const readEvent = lengthed(recorded) + at;
  const response = lengthed(readEvent);
  return { ident, type, recorded, event: readEvent, response, record: OVERHEAD_BYTES + 5 + response };
};

/** An upper bound of a record's size, cheap to have before its place is known. */
export const maxRecordSize = (event: ProposedEvent, nameLength: number): number =>
  OVERHEAD_BYTES + 320 + nameLength + event.type.length + event.custom.length + event.data.length;

/** So few bytes are copied sooner than the runtime is called. */
const FEW = 48;

const copy = (to: Buffer, at: number, bytes: Buffer, from = 0, length = bytes.length): number => {
  if (length > FEW) return at + bytes.copy(to, at, from, from + length);
  for (let k = 0; k < length; k++) to[at + k] = bytes[from + k]!;
  return at + length;
};

const put = (to: Buffer, at: number, tag: number, { bytes, at: from, length }: Span): number =>
  copy(to, head(to, at, tag, length), bytes, from, length);

const typeKey = Buffer.from('\x0a\x04type', 'latin1');

const head = (to: Buffer, at: number, tag: number, length: number): number => {
  to[at] = tag;
  return writeVarint(to, at + 1, length);
};

const number = (to: Buffer, at: number, tag: number, value: Wide): number => {
  to[at] = tag;
  return writeVarint(to, at + 1, value);
};

/** Writes the record at `from` and gives back its size. */
export const writeRecord = (to: Buffer, from: number, event: ProposedEvent, place: RecordLocation): number => {
  const created = createdEntry(place.created);
  const sizes = sizesOf(event, place);
  let at = from + HEADER_BYTES;
  to[at] = 0;
  at = to.writeUInt32BE(sizes.response, at + 1);
  at = head(to, at, 0x0a, sizes.event);
  at = head(to, at, 0x0a, sizes.recorded);
  to[at] = 0x0a;
  to[at + 1] = 38;
  at = put(to, at + 2, 0x12, event.id);
  at = head(to, at, 0x12, sizes.ident);
  at = copy(to, head(to, at, 0x1a, place.stream.length), place.stream);
  const nameAt = at - place.stream.length - from;
  if (place.revision !== 0) at = number(to, at, 0x18, wireRevision(place.revision));
  at = number(to, at, 0x20, place.position);
  at = number(to, at, 0x28, place.position);
  at = head(to, at, 0x32, sizes.type);
  at = put(to, copy(to, at, typeKey), 0x12, event.type);
  const typeAt = at - event.type.length - from;
  at = copy(to, copy(to, at, created), contentEntry(event.json));
  if (event.custom.length > 0) at = put(to, at, 0x3a, event.custom);
  if (event.data.length > 0) at = put(to, at, 0x42, event.data);
  at = number(to, at, 0x18, place.position);
  return seal(to, from, at, place, { nameAt, nameLength: place.stream.length, typeAt, typeLength: event.type.length });
};

type Names = { nameAt: number; nameLength: number; typeAt: number; typeLength: number };

let viewed: Buffer = Buffer.alloc(0);
let view: DataView = new DataView(viewed.buffer);
/** Writes into the same bytes, which compiled code does without a call. */
const viewOf = (to: Buffer): DataView => {
  if (to !== viewed) {
    viewed = to;
    view = new DataView(to.buffer, to.byteOffset, to.length);
  }
  return view;
};

const seal = (to: Buffer, from: number, end: number, place: RecordLocation, names: Names): number => {
  const size = end + TRAILER_BYTES - from;
  const out = viewOf(to);
  out.setUint32(from, size, true);
  out.setUint32(from + 8, place.position - place.batchStart, true);
  to[from + 12] = place.flags;
  to[from + 13] = 1;
  out.setUint16(from + 14, 0, true);
  out.setFloat64(from + 16, place.position, true);
  out.setFloat64(from + 24, place.revision, true);
  out.setFloat64(from + 32, place.created, true);
  out.setUint32(from + 40, names.nameAt, true);
  out.setUint32(from + 44, names.nameLength, true);
  out.setUint32(from + 48, names.typeAt, true);
  out.setUint32(from + 52, names.typeLength, true);
  out.setUint32(end, size, true);
  out.setUint32(from + 4, crc32(to.subarray(from + 8, end)), true);
  return size;
};

export const sizeAt = (bytes: Buffer, at: number): number => bytes.readUInt32LE(at);
/** How far behind the start of its batch, which is synced whole, it lies. */
export const batchDistanceAt = (bytes: Buffer, at: number): number => bytes.readUInt32LE(at + 8);
export const flagsAt = (bytes: Buffer, at: number): number => bytes[at + 12]!;
export const positionAt = (bytes: Buffer, at: number): number => bytes.readDoubleLE(at + 16);
export const revisionAt = (bytes: Buffer, at: number): number => bytes.readDoubleLE(at + 24);
export const createdMsAt = (bytes: Buffer, at: number): number => bytes.readDoubleLE(at + 32);

const part = (bytes: Buffer, at: number, field: number): Buffer => {
  const from = at + bytes.readUInt32LE(at + field);
  return bytes.subarray(from, from + bytes.readUInt32LE(at + field + 4));
};
export const nameAt = (bytes: Buffer, at: number): Buffer => part(bytes, at, 40);
export const typeAt = (bytes: Buffer, at: number): Buffer => part(bytes, at, 48);
export const frameAt = (bytes: Buffer, at: number): Buffer => bytes.subarray(at + HEADER_BYTES, at + sizeAt(bytes, at) - TRAILER_BYTES);

/** The RecordedEvent message inside the frame. */
export const recordedAt = (bytes: Buffer, at: number): Buffer => {
  const c = { bytes, at: at + HEADER_BYTES + 6, end: bytes.length };
  readVarint(c);
  c.at++;
  const length = Number(readVarint(c));
  return bytes.subarray(c.at, c.at + length);
};

/** 36 bytes of text: the id is the first field of the recorded event. */
export const idAt = (bytes: Buffer, at: number): Buffer => recordedAt(bytes, at).subarray(4, 40);

/** Whether a whole, unharmed record of this position lies at `at`. */
export const isIntactAt = (bytes: Buffer, at: number, position: number): boolean => {
  if (bytes.length - at < OVERHEAD_BYTES) return false;
  const size = sizeAt(bytes, at);
  if (size < OVERHEAD_BYTES || at + size > bytes.length) return false;
  return (
    positionAt(bytes, at) === position &&
    bytes.readUInt32LE(at + size - TRAILER_BYTES) === size &&
    bytes.readUInt32LE(at + 4) === crc32(bytes.subarray(at + 8, at + size - TRAILER_BYTES))
  );
};
