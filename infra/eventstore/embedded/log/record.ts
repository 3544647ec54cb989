import { crc32 } from 'node:zlib';
import { readVarint, type Span, varintSize, type Wide, writeVarint } from '../encoding/protobuf.ts';

/** After the header comes the event as the server sends it to readers (a framed ReadResp), so that a read only has to copy it. */
export const HEADER_BYTES = 56;
const TRAILER_BYTES = 4;
export const OVERHEAD_BYTES = HEADER_BYTES + TRAILER_BYTES;

export const LAST_OF_APPEND = 1;
export const JSON_DATA = 2;
export const LINK = 4;
export const TOMBSTONE = 8;
/** Marks the position of an append without events, because clients may read from there. */
export const EMPTY_APPEND = 16;

/** The revision of a tombstone in the log and the index. Clients get 2^63-1 instead. */
export const TOMBSTONE_REVISION = Number.MAX_SAFE_INTEGER;
const TOMBSTONE_ON_WIRE = 2n ** 63n - 1n;

export const wireRevision = (revision: number): Wide => (revision === TOMBSTONE_REVISION ? TOMBSTONE_ON_WIRE : revision);

/** `id` is a UUID as 36 bytes of lower-case text. `custom` is the event's metadata. */
export type ProposedEvent = { id: Span; type: Span; json: boolean; data: Span; custom: Span };

export type RecordLocation = { stream: Buffer; revision: number; position: number; created: number; batchStart: number; flags: number };

const contentTypeEntries = new Map<boolean, Buffer>();
const contentTypeEntry = (json: boolean): Buffer => {
  const cached = contentTypeEntries.get(json);
  if (cached) return cached;
  const value = json ? 'application/json' : 'application/octet-stream';
  const entry = Buffer.concat([
    Buffer.from([0x0a, 12]),
    Buffer.from('content-type'),
    Buffer.from([0x12, value.length]),
    Buffer.from(value),
  ]);
  const field = Buffer.concat([Buffer.from([0x32, entry.length]), entry]);
  contentTypeEntries.set(json, field);
  return field;
};

let createdAt = Number.NaN;
let createdBytes = Buffer.alloc(0);
/** Caches the last entry, because most events of a batch have the same time. */
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

const lengthDelimitedSize = (size: number): number => 1 + varintSize(size) + size;

type Sizes = { ident: number; type: number; recorded: number; event: number; response: number; record: number };

const sizesOf = (event: ProposedEvent, { stream, revision, position }: RecordLocation): Sizes => {
  const ident = lengthDelimitedSize(stream.length);
  const type = 6 + lengthDelimitedSize(event.type.length);
  const at = 1 + varintSize(position);
  const recorded =
    40 +
    lengthDelimitedSize(ident) +
    (revision === 0 ? 0 : 1 + varintSize(wireRevision(revision))) +
    2 * at +
    lengthDelimitedSize(type) +
    createdBytes.length +
    contentTypeEntry(event.json).length +
    (event.custom.length === 0 ? 0 : lengthDelimitedSize(event.custom.length)) +
    (event.data.length === 0 ? 0 : lengthDelimitedSize(event.data.length));
  const readEvent = lengthDelimitedSize(recorded) + at;
  const response = lengthDelimitedSize(readEvent);
  return { ident, type, recorded, event: readEvent, response, record: OVERHEAD_BYTES + 5 + response };
};

/** An upper bound in bytes that is cheap to compute, and does not depend on where the record is written. */
export const maxRecordSize = (event: ProposedEvent, nameLength: number): number =>
  OVERHEAD_BYTES + 320 + nameLength + event.type.length + event.custom.length + event.data.length;

/** Up to this number of bytes, copying in a loop is faster than a call into the runtime. */
const MAX_LOOP_COPY_BYTES = 48;

/** Returns the offset after the copied bytes. */
const copyBytes = (to: Buffer, at: number, bytes: Buffer): number => {
  if (bytes.length > MAX_LOOP_COPY_BYTES) return at + bytes.copy(to, at);
  for (let k = 0; k < bytes.length; k++) to[at + k] = bytes[k]!;
  return at + bytes.length;
};

const copySpan = (to: Buffer, at: number, { bytes, at: from, length }: Span): number => {
  if (length > MAX_LOOP_COPY_BYTES) return at + bytes.copy(to, at, from, from + length);
  for (let k = 0; k < length; k++) to[at + k] = bytes[from + k]!;
  return at + length;
};

const writeSpanField = (to: Buffer, at: number, tag: number, span: Span): number =>
  copySpan(to, writeNumberField(to, at, tag, span.length), span);

const typeKey = Buffer.from('\x0a\x04type', 'latin1');

/** A complete integer field, or the start of a length-delimited one. */
const writeNumberField = (to: Buffer, at: number, tag: number, value: Wide): number => {
  to[at] = tag;
  return writeVarint(to, at + 1, value);
};

/** Returns the record's size in bytes. */
export const writeRecord = (to: Buffer, from: number, event: ProposedEvent, location: RecordLocation): number => {
  const created = createdEntry(location.created);
  const sizes = sizesOf(event, location);
  let at = from + HEADER_BYTES;
  to[at] = 0;
  at = to.writeUInt32BE(sizes.response, at + 1);
  at = writeNumberField(to, at, 0x0a, sizes.event);
  at = writeNumberField(to, at, 0x0a, sizes.recorded);
  to[at] = 0x0a;
  to[at + 1] = 38;
  at = writeSpanField(to, at + 2, 0x12, event.id);
  at = writeNumberField(to, at, 0x12, sizes.ident);
  at = copyBytes(to, writeNumberField(to, at, 0x1a, location.stream.length), location.stream);
  const nameAt = at - location.stream.length - from;
  if (location.revision !== 0) at = writeNumberField(to, at, 0x18, wireRevision(location.revision));
  at = writeNumberField(to, at, 0x20, location.position);
  at = writeNumberField(to, at, 0x28, location.position);
  at = writeNumberField(to, at, 0x32, sizes.type);
  at = writeSpanField(to, copyBytes(to, at, typeKey), 0x12, event.type);
  const typeAt = at - event.type.length - from;
  at = copyBytes(to, copyBytes(to, at, created), contentTypeEntry(event.json));
  if (event.custom.length > 0) at = writeSpanField(to, at, 0x3a, event.custom);
  if (event.data.length > 0) at = writeSpanField(to, at, 0x42, event.data);
  at = writeNumberField(to, at, 0x18, location.position);
  return writeEnvelope(to, from, location, { end: at, nameAt, nameLength: location.stream.length, typeAt, typeLength: event.type.length });
};

/** `end` is the buffer offset at which the frame ends. The other offsets are relative to the record. */
type Layout = { end: number; nameAt: number; nameLength: number; typeAt: number; typeLength: number };

let viewedBuffer: Buffer = Buffer.alloc(0);
let view: DataView = new DataView(viewedBuffer.buffer);
/** Writing through a DataView is faster: compiled code then needs no call into the runtime. */
const dataViewOf = (to: Buffer): DataView => {
  if (to !== viewedBuffer) {
    viewedBuffer = to;
    view = new DataView(to.buffer, to.byteOffset, to.length);
  }
  return view;
};

/** Writes the header and the trailer around the frame. @returns the record's size in bytes */
const writeEnvelope = (to: Buffer, from: number, location: RecordLocation, layout: Layout): number => {
  const { end } = layout;
  const size = end + TRAILER_BYTES - from;
  const out = dataViewOf(to);
  out.setUint32(from, size, true);
  out.setUint32(from + 8, location.position - location.batchStart, true);
  to[from + 12] = location.flags;
  to[from + 13] = 1;
  out.setUint16(from + 14, 0, true);
  out.setFloat64(from + 16, location.position, true);
  out.setFloat64(from + 24, location.revision, true);
  out.setFloat64(from + 32, location.created, true);
  out.setUint32(from + 40, layout.nameAt, true);
  out.setUint32(from + 44, layout.nameLength, true);
  out.setUint32(from + 48, layout.typeAt, true);
  out.setUint32(from + 52, layout.typeLength, true);
  out.setUint32(end, size, true);
  out.setUint32(from + 4, crc32(to.subarray(from + 8, end)), true);
  return size;
};

// The following functions read parts of the record that starts at offset `at`.
export const sizeAt = (bytes: Buffer, at: number): number => bytes.readUInt32LE(at);
export const batchDistanceAt = (bytes: Buffer, at: number): number => bytes.readUInt32LE(at + 8);
export const flagsAt = (bytes: Buffer, at: number): number => bytes[at + 12]!;
export const positionAt = (bytes: Buffer, at: number): number => bytes.readDoubleLE(at + 16);
export const revisionAt = (bytes: Buffer, at: number): number => bytes.readDoubleLE(at + 24);
export const createdMsAt = (bytes: Buffer, at: number): number => bytes.readDoubleLE(at + 32);

const headerSlice = (bytes: Buffer, at: number, field: number): Buffer => {
  const from = at + bytes.readUInt32LE(at + field);
  return bytes.subarray(from, from + bytes.readUInt32LE(at + field + 4));
};
export const nameAt = (bytes: Buffer, at: number): Buffer => headerSlice(bytes, at, 40);
export const typeAt = (bytes: Buffer, at: number): Buffer => headerSlice(bytes, at, 48);
export const frameAt = (bytes: Buffer, at: number): Buffer => bytes.subarray(at + HEADER_BYTES, at + sizeAt(bytes, at) - TRAILER_BYTES);

export const recordedAt = (bytes: Buffer, at: number): Buffer => {
  const c = { bytes, at: at + HEADER_BYTES + 6, end: bytes.length };
  readVarint(c);
  c.at++;
  const length = Number(readVarint(c));
  return bytes.subarray(c.at, c.at + length);
};

/** Returns the event's id as 36 bytes of text. */
export const idAt = (bytes: Buffer, at: number): Buffer => recordedAt(bytes, at).subarray(4, 40);

/** Returns whether a complete record with this position and a correct checksum begins at offset `at`. */
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
