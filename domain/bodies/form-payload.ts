import { withoutByteOrderMark } from '../byte-order-mark.ts';

const AMPERSAND = 0x26;
const PERCENT = 0x25;
const PLUS = 0x2b;

/**
 * The first field named `payload` (application/x-www-form-urlencoded), decoded; ignores percent-encoded names. Null if there is none, or
 * its percent-encoding is invalid. Never verify a signature with this value: providers sign the whole form.
 */
export const payloadOf = (form: Uint8Array): Uint8Array | null => {
  const start = fieldStart(form);
  if (start < 0) return null;
  const end = form.indexOf(AMPERSAND, start);
  return decodeField(form.subarray(start, end < 0 ? form.length : end));
};

/** True also if the value of the field cannot be decoded. */
export const hasPayload = (form: Uint8Array): boolean => fieldStart(form) >= 0;

/** Replaces the payload in the field that `payloadOf` reads. All other bytes stay unchanged. */
export const replacePayload = (form: Uint8Array, payload: string): Uint8Array => {
  const start = fieldStart(form);
  const end = form.indexOf(AMPERSAND, start);
  const value = new TextEncoder().encode(encodeURIComponent(payload.toWellFormed()));
  const rest = end < 0 ? new Uint8Array(0) : form.subarray(end);
  return Buffer.concat([form.subarray(0, start), value, rest]);
};

const FIELD_PREFIX = new TextEncoder().encode('payload=');

const fieldStart = (form: Uint8Array): number => {
  for (let at = form.length - withoutByteOrderMark(form).length; at < form.length; at++) {
    if (FIELD_PREFIX.every((byte, index) => form[at + index] === byte)) return at + FIELD_PREFIX.length;
    at = form.indexOf(AMPERSAND, at);
    if (at < 0) return -1;
  }
  return -1;
};

const decodeField = (field: Uint8Array): Uint8Array | null => {
  const bytes = new Uint8Array(field.length);
  let length = 0;
  for (let at = 0; at < field.length; at++) {
    const byte = field[at]!;
    if (byte === PERCENT) {
      const value = hexDigit(field[at + 1]) * 16 + hexDigit(field[at + 2]);
      if (Number.isNaN(value)) return null;
      bytes[length++] = value;
      at += 2;
    } else bytes[length++] = byte === PLUS ? 0x20 : byte;
  }
  return bytes.subarray(0, length);
};

const hexDigit = (byte = 0): number => {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN;
};
