import { fieldOf, fieldsIn, type HeaderField } from './header-fields.ts';
import { type ParameterHeader, parameterHeader } from './header-parameters.ts';
import { MAX_HEADER_BYTES } from './message-shape.ts';

/** A part of a message: a leaf, whose `body` is still encoded, or a multipart with `children`. */
export type MimePart = {
  readonly fields: readonly HeaderField[];
  readonly type: ParameterHeader;
  readonly disposition: ParameterHeader;
  readonly encoding: string;
  readonly body: Buffer;
  readonly children: readonly MimePart[];
};

const MAX_DEPTH = 64;
const [LF, CR] = [0x0a, 0x0d];

/** A line that starts with `--`. `next` is where the next line starts. */
type Dashes = { readonly start: number; readonly next: number; readonly text: string };
type Range = { readonly start: number; readonly end: number };
type Parse = { readonly raw: Buffer; readonly dashes: readonly Dashes[]; headerBytes: number };

/** The maximum length of a boundary with its dashes, and some spaces (RFC 2046). */
const MAX_BOUNDARY_LINE = 300;

const dashLines = (raw: Buffer): Dashes[] => {
  const found: Dashes[] = [];
  const add = (start: number): void => {
    const end = raw.indexOf(LF, start);
    const next = end < 0 ? raw.length : end + 1;
    found.push({ start, next, text: raw.toString('latin1', start, Math.min(next, start + MAX_BOUNDARY_LINE)).trimEnd() });
  };
  if (raw.toString('latin1', 0, 2) === '--') add(0);
  for (let at = raw.indexOf('\n--'); at >= 0; at = raw.indexOf('\n--', at + 1)) add(at + 1);
  return found;
};

const FIRST_LINE = /^(?:>?From |[\x21-\x39\x3b-\x7e]+[ \t]*:|\r?\n)/;
const MAX_FIELD_NAME = 200;

/** Returns where the header in a range ends, and where the body starts. A part may have no header, and no empty line. */
const headerEnd = (raw: Buffer, { start, end }: Range): Range => {
  if (!FIRST_LINE.test(raw.toString('latin1', start, Math.min(end, start + MAX_FIELD_NAME)))) return { start, end: start };
  for (let at = start; at < end; ) {
    const lineEnd = raw.indexOf(LF, at);
    const next = lineEnd < 0 || lineEnd >= end ? end : lineEnd + 1;
    const isEmpty = raw[at] === LF || (raw[at] === CR && raw[at + 1] === LF);
    if (isEmpty) return { start: at, end: next };
    at = next;
  }
  return { start: end, end };
};

const withoutLineEnd = (raw: Buffer, { start, end }: Range): Range => {
  const beforeLf = end > start && raw[end - 1] === LF ? end - 1 : end;
  return { start, end: beforeLf < end && beforeLf > start && raw[beforeLf - 1] === CR ? beforeLf - 1 : beforeLf };
};

/** Returns the ranges of the parts that this boundary separates; null if the boundary does not occur. */
const rangesBetween = ({ raw, dashes }: Parse, { start, end }: Range, boundary: string): Range[] | null => {
  const ranges: Range[] = [];
  let open: number | null = null;
  let isFound = false;
  for (let at = firstFrom(dashes, start); at < dashes.length && dashes[at]!.start < end; at++) {
    const { start: lineStart, next, text } = dashes[at]!;
    const isLast = text === `--${boundary}--`;
    if (!isLast && text !== `--${boundary}`) continue;
    isFound = true;
    if (open !== null) ranges.push(withoutLineEnd(raw, { start: open, end: Math.max(open, lineStart) }));
    open = isLast ? null : Math.min(next, end);
    if (isLast) break;
  }
  // Without the last boundary, the last part ends where the multipart ends.
  if (open !== null) ranges.push({ start: open, end });
  return isFound ? ranges : null;
};

/** Returns the index of the first line that starts at this place or after it. */
const firstFrom = (dashes: readonly Dashes[], start: number): number => {
  let [low, high] = [0, dashes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (dashes[middle]!.start < start) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Guesses the boundary of a multipart that names none, or one that does not occur: the first that a header follows. */
const guessedBoundary = ({ raw, dashes }: Parse, { start, end }: Range): string | undefined => {
  for (let at = firstFrom(dashes, start); at < dashes.length && dashes[at]!.start < end; at++) {
    const { next, text } = dashes[at]!;
    if (text.length > 2 && /^content-[a-z-]+[ \t]*:/i.test(raw.toString('latin1', next, next + 40))) return text.slice(2);
  }
  return undefined;
};

/** A media type; a name has at most 127 characters (RFC 6838 4.2). */
const TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/;

const contentType = (fields: readonly HeaderField[], fallback: string): ParameterHeader => {
  const found = parameterHeader(fieldOf(fields, 'content-type'));
  if (TYPE.test(found.value)) return found;
  // RFC 2045 5.2: a type that is missing or cannot be read is a plain text.
  return { ...found, value: found.value === '' ? fallback : 'text/plain' };
};

const parseRange = (parse: Parse, range: Range, { depth, fallback }: { depth: number; fallback: string }): MimePart => {
  if (depth > MAX_DEPTH) throw new Error(`parts in more than ${MAX_DEPTH} levels`);
  const { raw } = parse;
  const header = headerEnd(raw, range);
  parse.headerBytes += header.start - range.start;
  if (parse.headerBytes > 2 * MAX_HEADER_BYTES) throw new Error(`headers of more than ${2 * MAX_HEADER_BYTES} bytes`);
  const fields = fieldsIn(raw.subarray(range.start, header.start));
  const type = contentType(fields, fallback);
  const bodyRange = { start: header.end, end: range.end };
  const body = raw.subarray(bodyRange.start, bodyRange.end);
  const part = { fields, type, disposition: parameterHeader(fieldOf(fields, 'content-disposition')), body, children: [] };
  const encoding = fieldOf(fields, 'content-transfer-encoding') ?? '';
  if (!type.value.startsWith('multipart/')) return { ...part, encoding };
  const ranges = childRanges(parse, bodyRange, type.parameters.get('boundary'));
  // A multipart without parts is shown as a text, so that nothing of it is lost.
  if (!ranges) return { ...part, encoding, type: { ...type, value: 'text/plain' } };
  const child = { depth: depth + 1, fallback: type.value === 'multipart/digest' ? 'message/rfc822' : 'text/plain' };
  return { ...part, encoding: '', children: ranges.map((one) => parseRange(parse, one, child)) };
};

const childRanges = (parse: Parse, range: Range, boundary: string | undefined): Range[] | null => {
  const found = boundary === undefined ? null : rangesBetween(parse, range, boundary.trimEnd());
  if (found) return found;
  const guessed = guessedBoundary(parse, range);
  return guessed === undefined ? null : rangesBetween(parse, range, guessed);
};

/** Divides a message into its parts. @throws Error if it has too many levels, or its headers are too long */
export const parseMime = (raw: Buffer): MimePart =>
  parseRange({ raw, dashes: dashLines(raw), headerBytes: 0 }, { start: 0, end: raw.length }, { depth: 0, fallback: 'text/plain' });
