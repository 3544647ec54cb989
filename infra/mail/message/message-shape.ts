import { answer, type SmtpError } from './smtp-answer.ts';

/** An attachment of 25 MiB in Base64, and the text. */
export const MAX_MESSAGE_BYTES = 36 * 1024 * 1024;
/**
 * A parser needs time and memory for each line and each part, and not only for each byte. More lines than `MAX_LINES`
 * are accepted only if they are as long as lines of Base64 (78 bytes), so that a large attachment has as many as it needs.
 */
const MAX_LINES = 200_000;
const MIN_LINE_BYTES = 60;
/** Lines of a text can start as a MIME boundary does, too, so there can be more of them than of parts. */
const MAX_BOUNDARIES = 5_000;
export const MAX_HEADER_LINES = 2_000;
export const MAX_HEADER_BYTES = 256 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const DASH = 0x2d;

/** `line` is the number of bytes of the unfinished line, without its end. */
export type MessageShape = {
  bytes: number;
  lines: number;
  boundaries: number;
  headerLines: number;
  headerBytes: number;
  isInHeader: boolean;
  line: number;
  startsWithDashes: boolean;
};

export const emptyShape = (): MessageShape => ({
  ...{ bytes: 0, lines: 0, boundaries: 0, headerLines: 0, headerBytes: 0 },
  ...{ isInHeader: true, line: 0, startsWithDashes: false },
});

const finishLine = (shape: MessageShape, isEmpty: boolean): void => {
  shape.lines++;
  if (shape.startsWithDashes && shape.line > 1) shape.boundaries++;
  if (isEmpty) shape.isInHeader = false;
  if (shape.isInHeader) {
    shape.headerLines++;
    shape.headerBytes += shape.line;
  }
  shape.line = 0;
  shape.startsWithDashes = false;
};

/** The bytes belong to one line. */
const extendLine = (shape: MessageShape, chunk: Uint8Array, { start, end }: { start: number; end: number }): void => {
  for (let at = start; at < end && shape.line + at - start < 2; at++)
    shape.startsWithDashes = chunk[at] === DASH && (shape.line + at - start === 0 || shape.startsWithDashes);
  shape.line += end - start;
};

export const countChunk = (shape: MessageShape, chunk: Uint8Array): void => {
  shape.bytes += chunk.length;
  let start = 0;
  for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
    extendLine(shape, chunk, { start, end });
    const isEmpty = shape.line === 0 || (shape.line === 1 && (end === start || chunk[end - 1] === CR));
    finishLine(shape, isEmpty);
    start = end + 1;
  }
  extendLine(shape, chunk, { start, end: chunk.length });
};

/** Null if what has arrived is within the limits. */
export const refusalOfShape = (shape: MessageShape): SmtpError | null => {
  const { bytes, lines, boundaries, headerLines, headerBytes, isInHeader, line } = shape;
  if (bytes > MAX_MESSAGE_BYTES) return answer(552, `5.3.4 The message has more than ${MAX_MESSAGE_BYTES} bytes`);
  if (lines > Math.max(MAX_LINES, bytes / MIN_LINE_BYTES))
    return answer(552, `5.3.4 The message has more than ${MAX_LINES} lines, and most are short: send it as an attachment in Base64`);
  if (boundaries > MAX_BOUNDARIES)
    return answer(554, `5.6.0 The message has more than ${MAX_BOUNDARIES} lines that start with --, as MIME boundaries do`);
  if (headerLines > MAX_HEADER_LINES) return answer(554, `5.6.0 The header of the message has more than ${MAX_HEADER_LINES} lines`);
  if (headerBytes + (isInHeader ? line : 0) > MAX_HEADER_BYTES)
    return answer(554, `5.6.0 The header of the message has more than ${MAX_HEADER_BYTES} bytes`);
  return null;
};
