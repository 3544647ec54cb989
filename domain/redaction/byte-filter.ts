/**
 * A sequence of at least three bytes to search for: for each position, the list of bytes that are allowed there.
 * `confirm`, if given, decides whether a match that starts at the index `at` counts. `flag` is the bit that a match
 * sets in the result.
 */
export type ByteSignal = {
  readonly flag: number;
  readonly sequence: readonly (readonly number[])[];
  readonly confirm?: (bytes: Uint8Array, at: number) => boolean;
};

type Matcher = Pick<ByteSignal, 'flag' | 'confirm'> & { readonly tables: readonly Uint8Array[] };
/**
 * A matcher, and the place at which its sequence may start if four bytes with a certain hash are found: `offset` is
 * added to the index of the first of these four bytes. It is usually negative or 0.
 */
type Candidate = { readonly matcher: Matcher; readonly offset: number };

const ANY = Array.from({ length: 256 }, (_, byte) => byte);
/** A mask that sets, in each of four bytes, the bit by which a small letter differs from the capital letter. */
const SMALL_LETTERS = 0x20202020;
const NOT_ASCII = 0x80808080 | 0;

/** The most frequent bytes in JSON, approximately in descending order of frequency. All other bytes are rarer. */
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

/**
 * Chooses five consecutive positions of a sequence, preferably positions with rare bytes. At every occurrence of the
 * sequence, the first four or the last four of them start at an even index of the searched bytes.
 */
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

/** Shifting a 32-bit product by this many bits leaves 18 bits. */
const HASH_SHIFT = 14;

const hashOf = (four: number): number => Math.imul(four | SMALL_LETTERS, 0x9e3779b1) >>> HASH_SHIFT;

/** Returns the hashes of all combinations of four bytes that are allowed at these four positions. */
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
 * Creates a function that searches bytes for all signals in one pass, and returns the flags of the signals that it
 * finds, with `notAscii` if a byte is not ASCII. The function hashes the four bytes at each even index, and compares
 * the bytes only with the signals that can have this hash. It may miss a signal of three or four bytes at the very
 * start or end.
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
