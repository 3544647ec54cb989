import { hash } from 'node:crypto';
import { createLruMap, type LruMap } from '../lru-map.ts';

const MAX_KEYS = 50_000;

/**
 * Creates a cache of verified API keys, from the text of an API key to its id. The cache stores the SHA-256 of the
 * text, not the text itself. SHA-256 takes a fifth of the time of the vault's keyed digest. It is as safe here, because
 * the secret in an API key has 190 random bits and cannot be guessed.
 */
export const verifiedKeyCache = (): Pick<LruMap<string, string>, 'get' | 'set'> => {
  const ids = createLruMap<string, string>({ capacity: MAX_KEYS });
  const digestOf = (text: string): string => hash('sha256', text);
  return { get: (text) => ids.get(digestOf(text)), set: (text, id) => ids.set(digestOf(text), id) };
};
