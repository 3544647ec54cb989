import { hash } from 'node:crypto';
import { createLruMap, type LruMap } from '../lru-map.ts';

const MAX_KEYS = 50_000;

/**
 * Maps the texts of API keys that were verified to the keys' ids. The cache knows a text by its SHA-256, which costs a
 * fifth of the digest under the pepper and reveals as little of a secret of 190 bits. It does not keep the text itself.
 */
export const verifiedKeyCache = (): Pick<LruMap<string, string>, 'get' | 'set'> => {
  const ids = createLruMap<string, string>({ capacity: MAX_KEYS });
  const digestOf = (text: string): string => hash('sha256', text);
  return { get: (text) => ids.get(digestOf(text)), set: (text, id) => ids.set(digestOf(text), id) };
};
