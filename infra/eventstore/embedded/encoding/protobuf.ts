/** Below 2^64; a bigint only if a double cannot hold it exactly. */
export type Wide = number | bigint;

export type Cursor = { bytes: Buffer; at: number; end: number };

export const malformed = (): Error => new RangeError('malformed message');

export const cursorOf = (bytes: Buffer): Cursor => ({ bytes, at: 0, end: bytes.length });

const wideVarint = (bytes: Buffer, from: number, to: number): bigint => {
  let value = 0n;
  for (let at = to - 1; at >= from; at--) value = (value << 7n) | BigInt(bytes[at]! & 127);
  return BigInt.asUintN(64, value);
};

/** @throws RangeError if the message is malformed */
export const readVarint = (c: Cursor): Wide => {
  const from = c.at;
  if (from < c.end && c.bytes[from]! < 128) {
    c.at++;
    return c.bytes[from]!;
  }
  let value = 0;
  let scale = 1;
  while (c.at < c.end && c.at < from + 10) {
    const byte = c.bytes[c.at++]!;
    value += (byte & 127) * scale;
    if (byte < 128) return value <= Number.MAX_SAFE_INTEGER ? value : wideVarint(c.bytes, from, c.at);
    scale *= 128;
  }
  throw malformed();
};

/** @throws RangeError if the field would end after the message */
export const readLength = (c: Cursor): number => {
  const length = Number(readVarint(c));
  if (c.at + length > c.end) throw malformed();
  return length;
};

/** A range of a buffer. Not a Buffer of its own, because creating one costs as much as all other work on a small event. */
export type Span = { readonly bytes: Buffer; readonly at: number; readonly length: number };

export const spanOf = (bytes: Buffer): Span => ({ bytes, at: 0, length: bytes.length });
export const spanTo = (c: Cursor, to: number): Span => ({ bytes: c.bytes, at: c.at, length: to - c.at });
export const viewOf = ({ bytes, at, length }: Span): Buffer => bytes.subarray(at, at + length);

/** Returns a view, which is valid only until the current turn of the event loop ends. */
export const readBytes = (c: Cursor): Buffer => {
  const length = readLength(c);
  c.at += length;
  return c.bytes.subarray(c.at - length, c.at);
};

/** @throws RangeError for an unknown wire type */
export const skipField = (c: Cursor, wireType: number): void => {
  if (wireType === 0) readVarint(c);
  else if (wireType === 1) c.at += 8;
  else if (wireType === 2) {
    const length = readLength(c);
    c.at += length;
  } else if (wireType === 5) c.at += 4;
  else throw malformed();
};

/** The values of a message by field number. If a field is repeated, only its last value is included. */
export type Fields = Map<number, Wide | Buffer>;

/** Reads integer and length-delimited fields; `each` also gets all values of repeated ones. @throws RangeError if malformed */
export const readFields = (bytes: Buffer, each?: (field: number, value: Wide | Buffer) => void): Fields => {
  const c = cursorOf(bytes);
  const fields: Fields = new Map();
  while (c.at < c.end) {
    const tag = Number(readVarint(c));
    const wireType = tag & 7;
    if (wireType !== 0 && wireType !== 2) {
      skipField(c, wireType);
      continue;
    }
    const value = wireType === 0 ? readVarint(c) : readBytes(c);
    fields.set(tag >>> 3, value);
    each?.(tag >>> 3, value);
  }
  return fields;
};

/** Undefined if the message does not have the field. */
export const bytesOf = (fields: Fields, field: number): Buffer | undefined => {
  const value = fields.get(field);
  return Buffer.isBuffer(value) ? value : undefined;
};

/** 0 if the message does not have the field. */
export const wideOf = (fields: Fields, field: number): Wide => {
  const value = fields.get(field);
  return value === undefined || Buffer.isBuffer(value) ? 0 : value;
};

export const varintSize = (value: Wide): number => {
  let size = 1;
  if (typeof value === 'bigint') for (let rest = value >> 7n; rest > 0n; rest >>= 7n) size++;
  else for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++;
  return size;
};

/** Returns the offset after the integer. */
export const writeVarint = (to: Buffer, at: number, value: Wide): number => {
  if (typeof value === 'bigint') {
    let rest = value;
    for (; rest >= 128n; rest >>= 7n) to[at++] = Number(rest & 127n) | 128;
    to[at++] = Number(rest);
    return at;
  }
  let rest = value;
  for (; rest > 0x7fffffff; rest = Math.floor(rest / 128)) to[at++] = (rest % 128) | 128;
  for (; rest >= 128; rest >>>= 7) to[at++] = (rest & 127) | 128;
  to[at++] = rest;
  return at;
};

const taggedBuffer = (field: number, wireType: number, size: number): [Buffer, number] => {
  const tag = (field << 3) | wireType;
  const out = Buffer.allocUnsafe(varintSize(tag) + size);
  return [out, writeVarint(out, 0, tag)];
};

export const uintField = (field: number, value: Wide): Buffer => {
  const [out, at] = taggedBuffer(field, 0, varintSize(value));
  writeVarint(out, at, value);
  return out;
};

export const bytesField = (field: number, value: Buffer): Buffer => {
  const [out, at] = taggedBuffer(field, 2, varintSize(value.length) + value.length);
  value.copy(out, writeVarint(out, at, value.length));
  return out;
};

export const textField = (field: number, value: string): Buffer => bytesField(field, Buffer.from(value));
export const messageField = (field: number, ...parts: Buffer[]): Buffer => bytesField(field, Buffer.concat(parts));

/** Encodes a message, with the five bytes that precede each message in gRPC. */
export const framedMessage = (...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  const out = Buffer.allocUnsafe(5 + body.length);
  out[0] = 0;
  out.writeUInt32BE(body.length, 1);
  body.copy(out, 5);
  return out;
};
