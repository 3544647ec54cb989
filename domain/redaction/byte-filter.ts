/**
 * At least three bytes to search for: for each position, the allowed bytes. `confirm` decides whether a match that starts at `at` counts.
 * `flag`: the bit that a match sets.
 */
export type ByteSignal = {
  readonly flag: number;
  readonly sequence: readonly (readonly number[])[];
  readonly confirm?: (bytes: Uint8Array, at: number) => boolean;
};

type Matcher = Pick<ByteSignal, 'flag' | 'confirm'> & { readonly tables: readonly Uint8Array[] };
/** `offset`: from the first of four bytes with a certain hash to where the sequence may start; usually negative or 0. */
type Candidate = { readonly matcher: Matcher; readonly offset: number };

const ANY = Array.from({ length: 256 }, (_, byte) => byte);
/** Sets, in each of four bytes, the bit by which small letters differ from capital letters. */
const SMALL_LETTERS = 0x20202020;
const NOT_ASCII = 0x80808080 | 0;

/** The most frequent bytes in JSON, about the most frequent first. */
const FREQUENT = Buffer.from('"etaoinsr,:_hldcum0p/1g-2by3fw.4v5k 6789TSEAxCqjz{}');
const WEIGHTS = new Float64Array(256).fill(1);
for (const [index, byte] of FREQUENT.entries()) WEIGHTS[byte] = FREQUENT.length + 10 - index;

const COMMON =
  'message developer changes author modified removed added source repository default description content comment system organization ' +
  'permissions access admin owner members request review customer subscription received events following followers user assignee command';
const COMMON_WEIGHT = 1_000;

const isCommon = (bytes: ByteSignal['sequence']): boolean => COMMON.includes(String.fromCharCode(...bytes.map((allowed) => allowed[0]!)));

const weightOf = (bytes: readonly number[]): number => bytes.reduce((sum, byte) => sum + WEIGHTS[byte]!, 0);

/** Five consecutive positions, preferably with rare bytes: the first or the last four start at an even index of the searched bytes. */
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

/** Leaves 18 bits of a 32-bit product. */
const HASH_SHIFT = 14;

const hashOf = (four: number): number => Math.imul(four | SMALL_LETTERS, 0x9e3779b1) >>> HASH_SHIFT;

/** Returns the hashes of all combinations of the bytes that are allowed at these four positions. */
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
 * Searches all signals in one pass; returns the flags of those found, with `notAscii` if a byte is not ASCII. Hashes the four bytes at
 * each even index, and compares only signals with this hash. May miss a signal of three or four bytes at the very start or end.
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
