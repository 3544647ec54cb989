/**
 * Something to look for in bytes: a sequence of at least three bytes, with the allowed bytes of each position. If
 * `confirm` is given, it decides for each occurrence, which starts at the index `at`. `flag` is the bit that an
 * occurrence sets in the result.
 */
export type ByteSignal = {
  readonly flag: number;
  readonly sequence: readonly (readonly number[])[];
  readonly confirm?: (bytes: Uint8Array, at: number) => boolean;
};

type Matcher = Pick<ByteSignal, 'flag' | 'confirm'> & { readonly tables: readonly Uint8Array[] };
/** A matcher whose sequence starts `offset` bytes after the four bytes by which it is found. */
type Candidate = { readonly matcher: Matcher; readonly offset: number };

const ANY = Array.from({ length: 256 }, (_, byte) => byte);
/** Sets the bit that tells small letters from capitals in four bytes. */
const SMALL_LETTERS = 0x20202020;
const NOT_ASCII = 0x80808080 | 0;

/** Bytes in the order of how often they occur in JSON, roughly. The others are rarer. */
const FREQUENT = Buffer.from('"etaoinsr,:_hldcum0p/1g-2by3fw.4v5k 6789TSEAxCqjz{}');
const WEIGHTS = new Float64Array(256).fill(1);
for (const [index, byte] of FREQUENT.entries()) WEIGHTS[byte] = FREQUENT.length + 10 - index;

/** Words that occur in many bodies. */
const COMMON =
  'message developer changes author modified removed added source repository default description content comment system organization ' +
  'permissions access admin owner members request review customer subscription received events following followers user assignee command';
const COMMON_WEIGHT = 1_000;

const isCommon = (bytes: ByteSignal['sequence']): boolean => COMMON.includes(String.fromCharCode(...bytes.map((allowed) => allowed[0]!)));

const weightOf = (bytes: readonly number[]): number => bytes.reduce((sum, byte) => sum + WEIGHTS[byte]!, 0);

/** Five positions of a sequence, so that each of its occurrences has four of them at an even index. */
const windowOf = (sequence: ByteSignal['sequence']): { readonly window: ByteSignal['sequence']; readonly start: number } => {
  if (sequence.length === 3) return { window: [ANY, ...sequence, ANY], start: -1 };
  if (sequence.length === 4) return { window: [...sequence, ANY], start: 0 };
  const costs = sequence.slice(4).map((_, start) => {
    const window = sequence.slice(start, start + 5);
    const common = [window.slice(0, 4), window.slice(1)].filter(isCommon).length;
    return window.reduce((cost, bytes) => cost * weightOf(bytes), COMMON_WEIGHT ** common);
  });
  const start = costs.indexOf(Math.min(...costs));
  return { window: sequence.slice(start, start + 5), start };
};

/** Leaves 18 bits of a product. */
const HASH_SHIFT = 14;

const hashOf = (four: number): number => Math.imul(four | SMALL_LETTERS, 0x9e3779b1) >>> HASH_SHIFT;

/** The hashes of four bytes that the positions allow. */
const hashesOf = (positions: ByteSignal['sequence']): ReadonlySet<number> => {
  const folded = positions.map((bytes) => [...new Set(bytes.map((byte) => byte | 0x20))]);
  const values = folded.reduce<number[]>((found, bytes) => found.flatMap((value) => bytes.map((byte) => (value << 8) | byte)), [0]);
  return new Set(values.map(hashOf));
};

const tableOf = (allowed: readonly number[]): Uint8Array => {
  const table = new Uint8Array(256);
  for (const byte of allowed) table[byte] = 1;
  return table;
};

const matchesAt = ({ tables, confirm }: Matcher, bytes: Uint8Array, at: number): boolean => {
  if (at < 0 || at + tables.length > bytes.length) return false;
  for (let index = 0; index < tables.length; index++) if (tables[index]![bytes[at + index]!] === 0) return false;
  return confirm ? confirm(bytes, at) : true;
};

const candidatesByHash = (signals: readonly ByteSignal[]): ReadonlyMap<number, readonly Candidate[]> => {
  const found = new Map<number, Candidate[]>();
  for (const { flag, sequence, confirm } of signals) {
    const matcher = { flag, confirm, tables: sequence.map(tableOf) };
    const { window, start } = windowOf(sequence);
    for (const shift of [0, 1])
      for (const hash of hashesOf(window.slice(shift, shift + 4))) {
        const others = found.get(hash) ?? [];
        found.set(hash, others);
        others.push({ matcher, offset: -start - shift });
      }
  }
  return found;
};

/**
 * Creates a function that looks for all signals at once, and returns the flags of those that it finds; and `notAscii`
 * if a byte is not ASCII. It looks at every four bytes that start at an even index, and goes on only where they may be
 * part of a signal. Signals of three or four bytes are not found at the very start and end.
 */
export const createByteFilter = (signals: readonly ByteSignal[], notAscii: number): ((bytes: Uint8Array) => number) => {
  const candidates = candidatesByHash(signals);
  const bits = new Int32Array(8_192);
  for (const hash of candidates.keys()) bits[hash >> 5]! |= 1 << (hash & 31);

  const flagsAt = (bytes: Uint8Array, at: number, hash: number): number => {
    const found = candidates.get(hash)!;
    let flags = 0;
    for (let index = 0; index < found.length; index++) {
      const { matcher, offset } = found[index]!;
      if (matchesAt(matcher, bytes, at + offset)) flags |= matcher.flag;
    }
    return flags;
  };

  return (bytes) => {
    let flags = 0;
    let all = 0;
    let four = ((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0);
    for (let at = 3; at < bytes.length; at += 2) {
      four = (four << 16) | (bytes[at - 1]! << 8) | bytes[at]!;
      all |= four;
      const hash = Math.imul(four | SMALL_LETTERS, 0x9e3779b1) >>> HASH_SHIFT;
      if (((bits[hash >> 5]! >> (hash & 31)) & 1) !== 0) flags |= flagsAt(bytes, at - 3, hash);
    }
    return ((all | bytes.at(-1)!) & NOT_ASCII) === 0 ? flags : flags | notAscii;
  };
};
