import { decodeText, fitsCharset } from './decode-text.ts';

/** An encoded word (RFC 2047), or text beside such words. Both are bytes, as the characters U+0000 to U+00FF. */
type Piece = { readonly bytes: string; readonly charset?: undefined } | Word;
type Word = { readonly bytes: string; readonly charset: string; readonly encoding: 'b' | 'q' };

/** The start of an encoded word. A language may follow the charset (RFC 2231). */
const WORD_START = /=\?([^?\s*]{1,100})(?:\*[^?\s]{0,100})?\?([bq])\?/iy;

/** The text of a word may contain spaces and `?`, although it must not. */
const piecesOf = (value: string): Piece[] => {
  const pieces: Piece[] = [];
  let [start, end] = [0, -1];
  for (let at = value.indexOf('=?'); at >= 0; at = value.indexOf('=?', at)) {
    WORD_START.lastIndex = at;
    const found = WORD_START.exec(value);
    const from = WORD_START.lastIndex;
    if (!found) {
      at += 2;
      continue;
    }
    if (end < from) end = value.indexOf('?=', from);
    if (end < 0) break;
    const inner = value.indexOf('=?', from);
    WORD_START.lastIndex = inner;
    // A word without an end is a text, if another word starts in it.
    if (inner >= 0 && inner < end && WORD_START.test(value)) {
      at = inner;
      continue;
    }
    if (at > start) pieces.push({ bytes: value.slice(start, at) });
    const encoding = found[2]!.toLowerCase() as Word['encoding'];
    pieces.push({ bytes: value.slice(from, end), charset: found[1]!.toLowerCase(), encoding });
    start = end + 2;
    at = start;
  }
  if (start < value.length) pieces.push({ bytes: value.slice(start) });
  return pieces;
};

const decodeQ = (text: string): Buffer =>
  Buffer.from(
    text.replaceAll('_', ' ').replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );

/** Padding may also be within the text. */
const decodeB = (text: string): Buffer => Buffer.concat(text.split(/=+/).map((unit) => Buffer.from(unit, 'base64')));

const wordBytes = ({ bytes, encoding }: Word): Buffer => (encoding === 'q' ? decodeQ(bytes) : decodeB(bytes));

/** A character or a group of Base64 may be split between two adjacent words; or each word is complete. */
const decodeWords = (words: readonly Word[]): string => {
  const charset = words[0]!.charset;
  const decoded = words.map(wordBytes);
  const together = Buffer.concat(decoded);
  if (words.length === 1 || fitsCharset(together, charset)) return decodeText(together, charset);
  const joined = decodeB(words.map(({ bytes }) => bytes).join(''));
  if (words.every(({ encoding }) => encoding === 'b') && fitsCharset(joined, charset)) return decodeText(joined, charset);
  return decoded.map((bytes) => decodeText(bytes, charset)).join('');
};

/** `isQuoted`: the decoded text is within quotes. */
export type WriteDecoded = (text: string, isQuoted: boolean) => string;

const isBlank = (piece: Piece | undefined): boolean =>
  piece !== undefined && piece.charset === undefined && /^[ \t\r\n]+$/.test(piece.bytes);

const endsInQuotes = (text: string, isQuoted: boolean): boolean => {
  let isInside = isQuoted;
  for (const [mark] of text.matchAll(/\\.|"/gs)) if (mark === '"') isInside = !isInside;
  return isInside;
};

/** `value` has a character U+0000 to U+00FF for each byte. Bytes above 7F that are not encoded are UTF-8 (RFC 6532) or one of `hints`. */
export const decodeHeader = (value: string, hints: readonly string[], write: WriteDecoded = (text) => text): string => {
  const pieces = piecesOf(value);
  const parts: string[] = [];
  let isQuoted = false;
  for (let at = 0; at < pieces.length; at++) {
    const piece = pieces[at]!;
    if (piece.charset === undefined) {
      isQuoted = endsInQuotes(piece.bytes, isQuoted);
      parts.push(decodeText(Buffer.from(piece.bytes, 'latin1'), undefined, hints));
      continue;
    }
    // White space between two encoded words is not part of the text.
    const words: Word[] = [piece];
    for (;;) {
      const next = isBlank(pieces[at + 1]) ? at + 2 : at + 1;
      const word = pieces[next];
      if (word?.charset !== piece.charset) {
        if (word?.charset !== undefined) at = next - 1;
        break;
      }
      words.push(word);
      at = next;
    }
    parts.push(write(decodeWords(words), isQuoted));
  }
  return parts.join('');
};
