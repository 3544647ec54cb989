import {
  bytesOf,
  type Cursor,
  type Fields,
  malformed,
  readFields,
  readVarint,
  type Span,
  skipField,
  spanOf,
  spanTo,
  viewOf,
  type Wide,
  wideOf,
} from '../encoding/protobuf.ts';
import type { ProposedEvent } from '../log/record.ts';

/** Thrown if an event of an append is invalid. The message is the same as that of EventStoreDB. */
export class InvalidEvent extends Error {}

const EMPTY: Span = spanOf(Buffer.alloc(0));
const jsonType = Buffer.from('application/json');
const typeKey = Buffer.from('type');
const contentKey = Buffer.from('content-type');

const isHex = (code: number): boolean => (code >= 48 && code <= 57) || (code >= 97 && code <= 102);
const isDash = (at: number): boolean => at === 8 || at === 13 || at === 18 || at === 23;

const lower = (bytes: Buffer): Buffer => Buffer.from(bytes.toString('latin1').toLowerCase(), 'latin1');

/** Returns whether a UUID, as 36 bytes of lower-case text, begins at offset `from`. */
const isUuidAt = (bytes: Buffer, from: number): boolean => {
  if (bytes.length - from < 36) return false;
  for (let at = 0; at < 36; at++) if (isDash(at) ? bytes[from + at] !== 45 : !isHex(bytes[from + at]!)) return false;
  return true;
};

const wordOf = (value: Wide): string => BigInt.asUintN(64, BigInt(value)).toString(16).padStart(16, '0');

const structuredText = (words: Fields): Buffer => {
  const hex = wordOf(wideOf(words, 1)) + wordOf(wideOf(words, 2));
  return Buffer.from(hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'));
};

/** The message contains a text or two numbers. Returns 36 bytes of lower-case text; undefined if it is not a UUID. */
const uuidText = (message: Span): Span | undefined => {
  const { bytes, at, length } = message;
  if (length === 38 && bytes[at] === 0x12 && isUuidAt(bytes, at + 2)) return { bytes, at: at + 2, length: 36 };
  const fields = readFields(viewOf(message));
  const structured = bytesOf(fields, 1);
  if (structured) return spanOf(structuredText(readFields(structured)));
  const text = lower(bytesOf(fields, 2) ?? Buffer.alloc(0));
  return text.length === 36 && isUuidAt(text, 0) ? spanOf(text) : undefined;
};

const isNil = ({ bytes, at, length }: Span): boolean => {
  for (let k = at; k < at + length; k++) if (bytes[k] !== 48 && bytes[k] !== 45) return false;
  return true;
};

/** The compared texts are short, so a loop is faster than a call into the runtime. */
const hasBytesAt = (bytes: Buffer, at: number, length: number, wanted: Buffer): boolean => {
  if (length !== wanted.length) return false;
  for (let k = 0; k < length; k++) if (bytes[at + k] !== wanted[k]) return false;
  return true;
};

const readEntry = (c: Cursor, end: number, event: ProposedEvent): void => {
  const { bytes } = c;
  let [key, keyLength, value, valueLength] = [0, 0, 0, 0];
  while (c.at < end) {
    const isKey = bytes[c.at++] === 0x0a;
    const length = Number(readVarint(c));
    if (isKey) [key, keyLength] = [c.at, length];
    else [value, valueLength] = [c.at, length];
    c.at += length;
  }
  if (c.at > end) throw malformed();
  if (hasBytesAt(bytes, key, keyLength, typeKey)) event.type = { bytes, at: value, length: valueLength };
  else if (hasBytesAt(bytes, key, keyLength, contentKey)) event.json = hasBytesAt(bytes, value, valueLength, jsonType);
};

/** The layout is the same in Append and BatchAppend. @throws InvalidEvent */
export const readProposedEvent = (c: Cursor, end: number): ProposedEvent => {
  const event: ProposedEvent = { id: EMPTY, type: EMPTY, json: false, data: EMPTY, custom: EMPTY };
  let id = EMPTY;
  while (c.at < end) {
    const tag = Number(readVarint(c));
    if ((tag & 7) !== 2) {
      skipField(c, tag & 7);
      continue;
    }
    const length = Number(readVarint(c));
    const next = c.at + length;
    if (next > end) throw malformed();
    if (tag === 0x12) readEntry(c, next, event);
    else if (tag === 0x0a) id = spanTo(c, next);
    else if (tag === 0x1a) event.custom = spanTo(c, next);
    else if (tag === 0x22) event.data = spanTo(c, next);
    c.at = next;
  }
  const text = uuidText(id);
  if (!text || isNil(text)) throw new InvalidEvent('Empty eventId provided.');
  if (event.type.length === 0) throw new InvalidEvent('Empty eventType provided.');
  event.id = text;
  return event;
};
