import { fieldOf, fieldsIn, type HeaderField } from './header-fields.ts';
import { type ParameterHeader, parameterHeader } from './header-parameters.ts';
import { MAX_HEADER_BYTES } from './message-shape.ts';

/** A leaf, whose `body` is still encoded, or a multipart with `children`. */
export type MimePart = {
  readonly fields: readonly HeaderField[];
  readonly type: ParameterHeader;
  readonly disposition: ParameterHeader;
  readonly encoding: string;
  readonly body: Buffer;
  readonly children: readonly MimePart[];
};

const MAX_DEPTH = 64;
const [LF, CR, DASH] = [0x0a, 0x0d, 0x2d];

/** Starts with `--`. `next` is where the next line starts. */
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

const CONTENT_FIELD = /^content-[\x21-\x39\x3b-\x7e]+[ \t]*:/i;
const LATER_FIELD = /^(?:x-[\x21-\x39\x3b-\x7e]+|mime-version)[ \t]*:/i;

const startOf = (raw: Buffer, { start, end }: Range): string => raw.toString('latin1', start, Math.min(end, start + MAX_FIELD_NAME));

const nextLine = (raw: Buffer, at: number, end: number): number => {
  const lineEnd = raw.indexOf(LF, at);
  return lineEnd < 0 || lineEnd >= end ? end : lineEnd + 1;
};

/** Returns the range of the line that ends a header: an empty line, or nothing of a line that starts as a boundary does. */
const separator = (raw: Buffer, { start, end }: Range): Range | null => {
  for (let at = start; at < end; ) {
    const next = nextLine(raw, at, end);
    if (raw[at] === LF || (raw[at] === CR && raw[at + 1] === LF)) return { start: at, end: next };
    if (raw[at] === DASH && raw[at + 1] === DASH) return { start: at, end: at };
    at = next;
  }
  return null;
};

const NO_FIELD = /^(?!>?From |[ \t]|[\x21-\x39\x3b-\x7e]+[ \t]*:)[^\r\n]/m;

/** Returns whether lines up to a separator are a header. Words of the sender can look like one at their start. */
const isHeader = (raw: Buffer, start: number, separatorStart: number): boolean => {
  const text = raw.toString('latin1', start, separatorStart + 1);
  return /^content-/im.test(text) || !NO_FIELD.test(text);
};

/**
 * Returns where the header of a part without an empty line ends: after its last field that says something about the
 * content. The lines that follow are the content, even if they look like fields. Without such a field, all lines are.
 */
const lastFieldEnd = (raw: Buffer, { start, end }: Range): number => {
  let [last, at] = [start, start];
  while (at < end) {
    const next = nextLine(raw, at, end);
    const line = startOf(raw, { start: at, end: next });
    const isFolded = /^[ \t]/.test(line);
    if (!isFolded && !FIRST_LINE.test(line)) break;
    const isAfterLast = last > start && last === at;
    if (CONTENT_FIELD.test(line) || (isAfterLast && (isFolded || LATER_FIELD.test(line)))) last = next;
    at = next;
  }
  return last;
};

/** Returns where the header in a range ends, and where the body starts. A part may have no header, and no empty line. */
const headerEnd = (raw: Buffer, { start, end }: Range, isRoot: boolean): Range => {
  if (!FIRST_LINE.test(startOf(raw, { start, end }))) return { start, end: start };
  // A longer header is refused.
  const searched = { start, end: Math.min(end, start + 2 * MAX_HEADER_BYTES + 1) };
  const found = separator(raw, searched);
  if (isRoot) return found ?? { start: end, end };
  if (found && isHeader(raw, start, found.start)) return found;
  const last = lastFieldEnd(raw, searched);
  return { start: last, end: last };
};

const withoutLineEnd = (raw: Buffer, { start, end }: Range): Range => {
  const beforeLf = end > start && raw[end - 1] === LF ? end - 1 : end;
  return { start, end: beforeLf < end && beforeLf > start && raw[beforeLf - 1] === CR ? beforeLf - 1 : beforeLf };
};

/** Null if the boundary does not occur. */
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
    // Some programs append parts after the last boundary, or use the boundary of the outer parts for inner ones, too.
    open = isLast ? null : Math.min(next, end);
  }
  // Without the last boundary, the last part ends where the multipart ends.
  if (open !== null) ranges.push({ start: open, end });
  return isFound ? ranges : null;
};

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
  const header = headerEnd(raw, range, depth === 0);
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

/** @throws Error if the message has too many levels, or its headers are too long */
export const parseMime = (raw: Buffer): MimePart =>
  parseRange({ raw, dashes: dashLines(raw), headerBytes: 0 }, { start: 0, end: raw.length }, { depth: 0, fallback: 'text/plain' });
