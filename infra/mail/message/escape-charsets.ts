import iconv from 'iconv-lite';

/** How the bytes after an escape sequence are to be read: as the bytes of an encoding that uses the eighth bit. */
type CharacterSet = { readonly read: (bytes: Buffer) => string };

const withPrefix = (bytes: Buffer, width: number, prefix: number): Buffer => {
  const groups = Math.ceil(bytes.length / width);
  const prefixed = Buffer.alloc(bytes.length + groups, prefix);
  for (let at = 0; at < bytes.length; at++) prefixed[at + Math.floor(at / width) + 1] = bytes[at]! | 0x80;
  return prefixed;
};

const inHighHalf = (bytes: Buffer): Buffer => bytes.map((byte) => byte | 0x80) as Buffer;
const japanese = (bytes: Buffer): string => new TextDecoder('euc-jp').decode(bytes);

const ASCII: CharacterSet = { read: (bytes) => bytes.toString('latin1') };
const JIS_ROMAN: CharacterSet = { read: (bytes) => bytes.toString('latin1').replaceAll('\\', '¥').replaceAll('~', '‾') };
const JIS_KANA: CharacterSet = { read: (bytes) => japanese(withPrefix(bytes, 1, 0x8e)) };
const JIS_X_0208: CharacterSet = { read: (bytes) => japanese(inHighHalf(bytes)) };
const JIS_X_0212: CharacterSet = { read: (bytes) => japanese(withPrefix(bytes, 2, 0x8f)) };
const CHINESE: CharacterSet = { read: (bytes) => new TextDecoder('gb18030').decode(inHighHalf(bytes)) };
const KOREAN: CharacterSet = { read: (bytes) => iconv.decode(inHighHalf(bytes), 'cp949') };

/** Escape sequences that choose the characters that follow (RFC 1468, RFC 1554, RFC 2237). */
const CHOSEN: ReadonlyMap<string, CharacterSet> = new Map([
  ...(['(B', '(H'] as const).map((name) => [name, ASCII] as const),
  ['(J', JIS_ROMAN],
  ['(I', JIS_KANA],
  ...(['$@', '$B', '$(@', '$(B'] as const).map((name) => [name, JIS_X_0208] as const),
  ['$(D', JIS_X_0212],
  ['$A', CHINESE],
  ['$(C', KOREAN],
]);
/** Escape sequences that choose the characters between Shift Out and Shift In (RFC 1557, RFC 1922). */
const SHIFTED: ReadonlyMap<string, CharacterSet> = new Map([
  ['$)C', KOREAN],
  ['$)A', CHINESE],
  [')I', JIS_KANA],
]);

const ESCAPE = 0x1b;
const SHIFT_OUT = 0x0e;
const SHIFT_IN = 0x0f;
const FIRST_PRINTABLE = 0x21;
const MAX_SEQUENCE = 3;

const sequenceAt = (bytes: Buffer, at: number): string | undefined => {
  for (let length = MAX_SEQUENCE; length >= 2; length--) {
    const name = bytes.toString('latin1', at + 1, at + 1 + length);
    if (CHOSEN.has(name) || SHIFTED.has(name)) return name;
  }
  return undefined;
};

/** Returns whether the bytes contain an escape sequence that chooses characters, as ISO-2022-JP and similar encodings do. */
export const hasCharsetEscape = (bytes: Buffer): boolean => {
  for (let at = bytes.indexOf(ESCAPE); at >= 0; at = bytes.indexOf(ESCAPE, at + 1)) if (sequenceAt(bytes, at)) return true;
  return false;
};

/** Decodes a text in ISO-2022-JP, -JP-1, -JP-2, -KR or -CN, which are told apart by their escape sequences. */
export const decodeEscaped = (bytes: Buffer): string => {
  const parts: string[] = [];
  let [chosen, shifted, isShifted, start] = [ASCII, JIS_KANA, false, 0];
  const flush = (end: number): void => {
    const { read } = isShifted ? shifted : chosen;
    // Spaces and line ends are kept between characters of two bytes.
    for (let at = start; at < end; ) {
      const isPrintable = bytes[at]! >= FIRST_PRINTABLE;
      let next = at;
      while (next < end && bytes[next]! >= FIRST_PRINTABLE === isPrintable) next++;
      const run = bytes.subarray(at, next);
      parts.push(isPrintable ? read(run) : run.toString('latin1'));
      at = next;
    }
  };
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte !== ESCAPE && byte !== SHIFT_OUT && byte !== SHIFT_IN) continue;
    const name = byte === ESCAPE ? sequenceAt(bytes, at) : undefined;
    if (byte === ESCAPE && name === undefined) continue;
    flush(at);
    if (name === undefined) isShifted = byte === SHIFT_OUT;
    else if (CHOSEN.has(name)) [chosen, isShifted] = [CHOSEN.get(name)!, false];
    else shifted = SHIFTED.get(name)!;
    at += name?.length ?? 0;
    start = at + 1;
  }
  flush(bytes.length);
  return parts.join('');
};

/** HZ-GB-2312 (RFC 1843): Chinese between `~{` and `~}`. */
export const decodeHz = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replace(/~\{([^~\n]*)(?:~\}|$)/gm, (_, chinese: string) => CHINESE.read(Buffer.from(chinese, 'latin1')))
    .replaceAll('~\n', '')
    .replaceAll('~~', '~');
