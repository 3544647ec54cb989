import { hash } from 'node:crypto';
import { createLruMap, type LruMap } from '../lru-map.ts';

const MAX_KEYS = 50_000;

/**
 * Maps the SHA-256 of a key's text to its id. SHA-256 takes a fifth of the time of the vault's keyed digest, and is safe enough: the secret
 * has 190 random bits and cannot be guessed.
 */
export const verifiedKeyCache = (): Pick<LruMap<string, string>, 'get' | 'set'> => {
  const ids = createLruMap<string, string>({ capacity: MAX_KEYS });
  const digestOf = (text: string): string => hash('sha256', text);
  return { get: (text) => ids.get(digestOf(text)), set: (text, id) => ids.set(digestOf(text), id) };
};
