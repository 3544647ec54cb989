import { hash } from 'node:crypto';
import { type Bounded, bounded } from '../lru-map.ts';

const MAX_KEYS = 50_000;

/**
 * The ids of API keys that were good, by their text. A text is known by its SHA-256, which takes a fifth of what its digest under the pepper
 * takes, and of a secret of 190 bits tells as little; it is not kept itself.
 */
export const verifiedKeyCache = (): Bounded<string, string> => {
  const ids = bounded<string, string>(MAX_KEYS);
  const nameOf = (text: string): string => hash('sha256', text);
  return { get: (text) => ids.get(nameOf(text)), set: (text, id) => ids.set(nameOf(text), id) };
};
