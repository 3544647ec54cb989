import { isAscii, isUtf8 } from 'node:buffer';
import iconv from 'iconv-lite';
import { withoutEnd } from '../../../domain/text-end.ts';
import { decodeEscaped, decodeHz, hasCharsetEscape } from './escape-charsets.ts';

/** Names that senders use, and a set that contains all their characters. */
const ALIASES: readonly (readonly [RegExp, string])[] = [
  [/^(?:x-)?(?:gb_?2312(?:-80)?|gbk|cp936|ms936|windows-936|euc-?cn|cn-gb|chinese|iso-ir-58|gb18030)$/, 'gb18030'],
  [/^(?:x-)?(?:euc-?kr|ks_?c_?-?5601(?:-?19\d\d)?|korean|cp949|ms949|windows-949|uhc|iso-ir-149)$/, 'cp949'],
  [/^(?:x-x-|x-|cn-)?big5(?:-?hkscs|-?eten)?$|^cp950$|^windows-950$/, 'big5hkscs'],
  [/^(?:x-)?(?:shift[-_]?jis|sjis|cp932|ms932|windows-932|windows-31j|ms_?kanji|csshiftjis)$/, 'shift_jis'],
  [/^(?:x-)?(?:euc-?jp|cp51932)$/, 'euc-jp'],
  [/^utf-?8.*$|^unicode-1-1-utf-8$/, 'utf-8'],
  [/^(?:unicode-1-1-)?utf-?7$/, 'utf-7'],
];
/** Names that say nothing about bytes above 7F, and encodings of `iconv` that are not encodings of texts. */
const NO_CHARSET = /^(?:|us-?ascii|ascii|ansi_x3\.4-19\d\d|unknown.*|x-unknown|default|none|binary|[78]bit|hex|base64(?:url)?)$/;
const UTF_16 = /^(?:utf-?16|ucs-?2|unicode|iso-10646-ucs-2|csunicode)(?:-?([lb])e)?$/;
const ESCAPED = /^(?:cs)?iso-?2022-?/;

const canonicalName = (label: string | undefined): string => {
  const name = withoutEnd((label ?? '').trim().replace(/^["']+/, ''), /["']/).toLowerCase();
  return ALIASES.find(([pattern]) => pattern.test(name))?.[1] ?? name;
};

const decoders = new Map<string, TextDecoder | null>();
const MAX_DECODERS = 200;

const decoderOf = (name: string): TextDecoder | null => {
  const known = decoders.get(name);
  if (known !== undefined) return known;
  let decoder: TextDecoder | null = null;
  try {
    decoder = new TextDecoder(name);
  } catch {}
  if (decoders.size < MAX_DECODERS) decoders.set(name, decoder);
  return decoder;
};

/** Null if the character set is unknown. */
const decodeAs = (name: string, bytes: Buffer): string | null => {
  if (NO_CHARSET.test(name)) return null;
  if (name !== 'cp949' && name !== 'big5hkscs') {
    const decoder = decoderOf(name);
    if (decoder) return decoder.decode(bytes);
  }
  return iconv.encodingExists(name) ? iconv.decode(bytes, name) : null;
};

const REPLACEMENT = 0xfffd;

/** Counts the characters above 7F: those that could be decoded, and those that could not. */
const countDecoded = (text: string): { readonly good: number; readonly bad: number } => {
  let [good, bad] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === REPLACEMENT) bad++;
    else if (unit > 0x7f) good++;
  }
  return { good, bad };
};

/** The part of the bytes that must be NUL; less if the label says UTF-16. Half of ASCII in UTF-16 is NUL. */
const MIN_NULS = { named: 0.125, unnamed: 0.3 };

/** Returns the byte order of UTF-16 by the places of NUL in the text, which stand for ASCII; null if there are few. */
const orderByNuls = (bytes: Buffer, part: number): 'le' | 'be' | null => {
  const head = bytes.subarray(0, 4_096);
  let [even, odd] = [0, 0];
  for (let at = 0; at < head.length; at++) if (head[at] === 0) at % 2 === 0 ? even++ : odd++;
  if (Math.max(even, odd) < head.length * part || Math.min(even, odd) > Math.max(even, odd) / 8) return null;
  return odd > even ? 'le' : 'be';
};

const utf16 = (bytes: Buffer, order: 'le' | 'be'): string => new TextDecoder(`utf-16${order}`).decode(bytes);

/** Decodes a text that starts with a byte order mark, or has the NULs of UTF-16; null if it has neither. */
const decodeMarked = (bytes: Buffer, name: string): string | null => {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return utf16(bytes, 'le');
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return utf16(bytes, 'be');
  const named = UTF_16.exec(name);
  const part = named ? MIN_NULS.named : MIN_NULS.unnamed;
  const order = bytes.length % 2 === 0 && bytes.includes(0) ? orderByNuls(bytes, part) : null;
  if (order) return utf16(bytes, order);
  if (!named || bytes.length % 2 !== 0 || isUtf8(bytes)) return null;
  return utf16(bytes, named[1] === 'l' ? 'le' : 'be');
};

/** So many characters of a text must be valid UTF-8 for each that is not, for the text to count as damaged UTF-8. */
const GOOD_PER_BAD = 8;

const isMostlyGood = (text: string): boolean => {
  const { good, bad } = countDecoded(text);
  const isOnlyCut = bad === 1 && text.endsWith('\ufffd');
  return good > 0 && (isOnlyCut || good >= GOOD_PER_BAD * bad);
};

/** Other encodings of the same language, for labels whose text is not in the named one. */
const RELATED: readonly (readonly [RegExp, readonly string[]])[] = [[ESCAPED, ['shift_jis', 'euc-jp']]];

/** Decodes a text that has bytes above 7F and is not UTF-8. */
const decodeLegacy = (bytes: Buffer, [declared = '', ...hints]: readonly string[]): string => {
  const asUtf8 = new TextDecoder().decode(bytes);
  if (isMostlyGood(asUtf8)) return asUtf8;
  const asDeclared = decodeAs(declared, bytes);
  const isClean = (text: string | null): text is string => text !== null && !text.includes('\ufffd');
  if (declared !== 'utf-8' && isClean(asDeclared)) return asDeclared;
  const related = RELATED.find(([label]) => label.test(declared))?.[1] ?? [];
  for (const name of [...related, ...hints]) {
    const text = name === 'utf-8' ? null : decodeAs(name, bytes);
    if (isClean(text)) return text;
  }
  if (asDeclared !== null && isMostlyGood(asDeclared)) return asDeclared;
  return new TextDecoder('windows-1252').decode(bytes);
};

export const fitsCharset = (bytes: Buffer, label: string): boolean => {
  const name = canonicalName(label);
  return isUtf8(bytes) || (name !== 'utf-8' && !(decodeAs(name, bytes) ?? '\ufffd').includes('\ufffd'));
};

/**
 * Decodes a text of which the sender has said in which character set it is. The label is often missing or wrong, so the
 * bytes decide where they can: escape sequences are ISO-2022, and valid UTF-8 with bytes above 7F is UTF-8. `hints` are
 * the character sets that the rest of the message names.
 */
export const decodeText = (content: Uint8Array, label: string | undefined, hints: readonly string[] = []): string => {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length);
  const name = canonicalName(label);
  const marked = decodeMarked(bytes, name);
  if (marked !== null) return marked;
  if (isAscii(bytes)) {
    if (name === 'utf-7') return iconv.decode(bytes, 'utf-7');
    if (/^hz/.test(name)) return decodeHz(bytes);
    return hasCharsetEscape(bytes) ? decodeEscaped(bytes) : bytes.toString('latin1');
  }
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  return decodeLegacy(bytes, [name, ...hints.map(canonicalName)]);
};
