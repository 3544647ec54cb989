const BITS_PER_KEY = 12;
const PROBES = 5;

/** If `mayHave` returns false, the key is certainly absent. It also returns true for about 0.5 % of the absent keys. */
export type Bloom = { bits: Uint8Array; add: (key: number) => void; mayHave: (key: number) => boolean };

/** Returns the size in bytes of a filter for this many keys. */
export const bloomSize = (keys: number): number => Math.max(8, Math.ceil((keys * BITS_PER_KEY) / 8));

/** Returns a filter that uses `bits` as its storage: `add` changes them in place. */
export const bloomOf = (bits: Uint8Array): Bloom => {
  const count = bits.length * 8;
  const step = (key: number): number => (Math.imul((key / 4294967296) >>> 0, 0x9e3779b1) ^ (key >>> 15)) | 1;
  const bitOf = (key: number, stride: number, probe: number): number => ((key + Math.imul(probe, stride)) >>> 0) % count;
  return {
    bits,
    add: (key) => {
      const stride = step(key);
      for (let probe = 0; probe < PROBES; probe++) {
        const bit = bitOf(key >>> 0, stride, probe);
        bits[bit >>> 3]! |= 1 << (bit & 7);
      }
    },
    mayHave: (key) => {
      const stride = step(key);
      for (let probe = 0; probe < PROBES; probe++) {
        const bit = bitOf(key >>> 0, stride, probe);
        if ((bits[bit >>> 3]! & (1 << (bit & 7))) === 0) return false;
      }
      return true;
    },
  };
};
