import { ANY, NO_STREAM, STREAM_EXISTS } from '../append-decision.ts';
import {
  bytesOf,
  cursorOf,
  type Fields,
  readBytes,
  readFields,
  readLength,
  readVarint,
  skipField,
  type Wide,
  wideOf,
} from '../encoding/protobuf.ts';
import type { ProposedEvent } from '../log/record.ts';
import { InvalidEvent, readProposedEvent } from './proposed-event.ts';

/** A StreamIdentifier message: its encoded form, and the stream's name as bytes and as text. */
export type StreamIdentifier = { identifier: Buffer; bytes: Buffer; name: string };

export const streamIdentifierOf = (identifier: Buffer): StreamIdentifier => {
  const bytes = bytesOf(readFields(identifier), 3) ?? Buffer.alloc(0);
  return { identifier, bytes, name: bytes.toString() };
};

/** All requests with an expected revision encode it in the fields 2 to 5. */
const expectedOf = (fields: Fields): Wide => {
  if (fields.has(3)) return NO_STREAM;
  if (fields.has(4)) return ANY;
  if (fields.has(5)) return STREAM_EXISTS;
  return wideOf(fields, 2);
};

export type Target = StreamIdentifier & { expected: Wide };

/** Reads the options of an Append, Delete or Tombstone message. */
export const targetOf = (options: Buffer): Target => {
  const fields = readFields(options);
  return { ...streamIdentifierOf(bytesOf(fields, 1) ?? Buffer.alloc(0)), expected: expectedOf(fields) };
};

/** The first field of a Delete or Tombstone message holds the options. */
export const removalTargetOf = (message: Buffer): Target => targetOf(bytesOf(readFields(message), 1) ?? Buffer.alloc(0));

const timestampMs = (message: Buffer): number => {
  const fields = readFields(message);
  return Number(BigInt.asIntN(64, BigInt(wideOf(fields, 1)))) * 1000 + Number(wideOf(fields, 2)) / 1e6;
};

const deadlineOf = (fields: Fields): number => {
  const at = bytesOf(fields, 6);
  if (at) return timestampMs(at);
  const within = bytesOf(fields, 7);
  return within ? Date.now() + timestampMs(within) : Number.POSITIVE_INFINITY;
};

/** A part of an append. Only the first has `options`. `rejection` says why an event of the part is invalid. */
export type BatchPart = {
  correlation: Buffer;
  options: (Target & { deadline: number }) | undefined;
  events: ProposedEvent[];
  final: boolean;
  rejection: string | undefined;
};

const batchOptions = (message: Buffer): Target & { deadline: number } => {
  const fields = readFields(message);
  return { ...streamIdentifierOf(bytesOf(fields, 1) ?? Buffer.alloc(0)), expected: expectedOf(fields), deadline: deadlineOf(fields) };
};

const addProposedEvent = (read: () => ProposedEvent, part: BatchPart): void => {
  try {
    part.events.push(read());
  } catch (error) {
    if (!(error instanceof InvalidEvent)) throw error;
    part.rejection = error.message;
  }
};

/** @throws RangeError if the message is malformed */
export const batchPartOf = (bytes: Buffer): BatchPart => {
  const c = cursorOf(bytes);
  const part: BatchPart = { correlation: Buffer.alloc(0), options: undefined, events: [], final: false, rejection: undefined };
  while (c.at < c.end) {
    const tag = Number(readVarint(c));
    if (tag === 0x0a) part.correlation = readBytes(c);
    else if (tag === 0x12) part.options = batchOptions(readBytes(c));
    else if (tag === 0x20) part.final = readVarint(c) !== 0;
    else if (tag === 0x1a) {
      const length = readLength(c);
      const end = c.at + length;
      addProposedEvent(() => readProposedEvent(c, end), part);
      c.at = end;
    } else skipField(c, tag & 7);
  }
  return part;
};

/** The first message holds the target, each further one an event. @throws InvalidEvent */
export const appendPartOf = (bytes: Buffer): { target: Target } | { event: ProposedEvent } => {
  const fields = readFields(bytes);
  const options = bytesOf(fields, 1);
  if (options) return { target: targetOf(options) };
  const proposed = bytesOf(fields, 2) ?? Buffer.alloc(0);
  return { event: readProposedEvent(cursorOf(proposed), proposed.length) };
};
