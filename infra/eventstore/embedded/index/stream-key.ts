/** A 53-bit hash. If another name has the same key, a higher `probe` gives a different one. */
export const keyOf = (name: string, probe = 0): number => {
  let a = 0xdeadbeef ^ probe;
  let b = 0x41c6ce57 ^ probe;
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
};
