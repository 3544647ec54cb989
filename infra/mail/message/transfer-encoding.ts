const [LF, CR, EQUALS, SPACE, TAB] = [0x0a, 0x0d, 0x3d, 0x20, 0x09];
const NO_DIGIT = -1;

const hexDigit = (byte: number | undefined): number => {
  if (byte === undefined) return NO_DIGIT;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : NO_DIGIT;
};

/** -1 unless only spaces come before the end of the line. */
const afterLineEnd = (bytes: Buffer, from: number): number => {
  let at = from;
  while (bytes[at] === SPACE || bytes[at] === TAB || bytes[at] === CR) at++;
  if (at >= bytes.length) return bytes.length;
  return bytes[at] === LF ? at + 1 : -1;
};

/** Invalid escapes stay as they are; spaces at the end of a line were added on the way. */
const decodeQuotedPrintable = (bytes: Buffer): Buffer => {
  const decoded = Buffer.allocUnsafe(bytes.length);
  let [length, solid] = [0, 0];
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at]!;
    if (byte === EQUALS) {
      const [high, low] = [hexDigit(bytes[at + 1]), hexDigit(bytes[at + 2])];
      const next = high >= 0 && low >= 0 ? -1 : afterLineEnd(bytes, at + 1);
      if (next >= 0) {
        at = next;
        solid = length;
        continue;
      }
      decoded[length++] = high >= 0 && low >= 0 ? high * 16 + low : EQUALS;
      at += high >= 0 && low >= 0 ? 3 : 1;
      solid = length;
      continue;
    }
    if (byte === LF) {
      const hasReturn = at > 0 && bytes[at - 1] === CR;
      length = solid;
      if (hasReturn) decoded[length++] = CR;
    }
    decoded[length++] = byte;
    at++;
    if (byte === LF || (byte !== SPACE && byte !== TAB && byte !== CR)) solid = length;
  }
  return decoded.subarray(0, length);
};

const MAX_PADDING = 2;

/** Some programs pad each line, so padding may be within the text. */
const decodeBase64 = (bytes: Buffer): Buffer => {
  const text = bytes.toString('latin1');
  const end = text.trimEnd().length;
  const padding = text.indexOf('=');
  if (padding < 0 || padding >= end - MAX_PADDING) return Buffer.from(text, 'base64');
  const units = text.replace(/[^A-Za-z0-9+/=]+/g, '').split(/=+/);
  return Buffer.concat(units.map((unit) => Buffer.from(unit, 'base64')));
};

const BASE64_LINE = /^[A-Za-z0-9+/]+={0,2}$/;
/** Base64 in mail has lines of 76 characters, except the last. A word of a text can be a line of Base64, too. */
const FULL_LINE = 60;

const NO_BASE64 = /[^A-Za-z0-9+/=\s]/;

/** Returns the place after the last line of Base64, if a text follows that is not encoded; the length of all otherwise. */
const base64End = (bytes: Buffer): number => {
  const text = bytes.toString('latin1');
  if (!NO_BASE64.test(text)) return text.length;
  let end: number | null = null;
  let hasData = false;
  for (const { 0: line, index } of text.matchAll(/[^\n]*(?:\n|$)/g)) {
    const content = line.trim();
    const isData = BASE64_LINE.test(content);
    if (end !== null && isData && content.length >= FULL_LINE) return text.length;
    if (isData && content.endsWith('=')) end ??= index + line.length;
    else if (hasData && !isData) end ??= index;
    hasData ||= isData;
  }
  return end !== null && NO_BASE64.test(text.slice(end)) ? end : text.length;
};

/** Mailing lists and scanners append a footer that is not encoded to every message. */
export const withoutAppendedText = (bytes: Buffer, encoding: string): { readonly encoded: Buffer; readonly appended: Buffer } => {
  const end = /base64/i.test(encoding) ? base64End(bytes) : bytes.length;
  return { encoded: bytes.subarray(0, end), appended: bytes.subarray(end) };
};

const decodeLine = (line: string): Buffer => {
  const size = (line.charCodeAt(0) - SPACE) & 0x3f;
  const decoded = Buffer.alloc(Math.ceil(size / 3) * 3);
  for (let group = 0; group * 3 < size; group++) {
    let bits = 0;
    for (let at = 0; at < 4; at++) bits = (bits << 6) | ((line.charCodeAt(1 + group * 4 + at) - SPACE) & 0x3f || 0);
    decoded.writeUIntBE(bits, group * 3, 3);
  }
  return decoded.subarray(0, size);
};

/** Decodes the lines between `begin` and `end` of uuencode. */
const decodeUuencode = (bytes: Buffer): Buffer => {
  const lines = bytes.toString('latin1').split(/\r?\n/);
  const start = lines.findIndex((line) => /^begin [0-7]{3,4} /.test(line));
  const after = lines.slice(start + 1);
  const end = after.findIndex((line) => line === 'end' || line === '`' || line === '');
  return Buffer.concat(after.slice(0, end < 0 ? after.length : end).map(decodeLine));
};

const BLOCK_START = /^begin [0-7]{3,4} (\S.*)$/;

const isEncodedLine = (line: string): boolean => {
  const size = (line.charCodeAt(0) - SPACE) & 0x3f;
  const length = 1 + Math.ceil(size / 3) * 4;
  return size > 0 && /^[ -`]+$/.test(line) && line.length >= length - 3 && line.length <= length + 1;
};

type EncodedFile = { readonly filename: string; readonly bytes: Buffer };

/** Takes the files in uuencode out of a text, where each line of them has the right form. */
export const withoutUuencoded = (text: string): { readonly text: string; readonly files: readonly EncodedFile[] } => {
  if (!/^begin [0-7]/m.test(text)) return { text, files: [] };
  const files: EncodedFile[] = [];
  const kept: string[] = [];
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at++) {
    const filename = BLOCK_START.exec(lines[at]!)?.[1];
    let end = at + 1;
    while (filename !== undefined && end < lines.length && isEncodedLine(lines[end]!)) end++;
    const last = lines[end] === '`' || lines[end]?.trim() === '' ? end + 1 : end;
    if (filename === undefined || lines[last] !== 'end') {
      kept.push(lines[at]!);
      continue;
    }
    files.push({ filename: filename.trim(), bytes: Buffer.concat(lines.slice(at + 1, end).map(decodeLine)) });
    at = last;
  }
  return { text: kept.join('\n'), files };
};

export const decodeTransfer = (bytes: Buffer, encoding: string): Buffer => {
  if (/base64/i.test(encoding)) return decodeBase64(bytes);
  if (/quoted-?printable/i.test(encoding)) return decodeQuotedPrintable(bytes);
  return /^\W*(?:x-?)?uu/i.test(encoding) ? decodeUuencode(bytes) : bytes;
};
