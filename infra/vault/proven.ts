import { hash } from 'node:crypto';
import { type Bounded, bounded } from '../bounded.ts';

const MOST = 50_000;

/**
 * What was found out about texts that were shown before, API keys as a rule. They are known by their SHA-256, which takes a fifth of what their
 * digest under the pepper takes, and of a secret of 190 bits tells as little; the texts themselves are not kept.
 */
export const provenTexts = (): Bounded<string, string> => {
  const found = bounded<string, string>(MOST);
  const nameOf = (text: string): string => hash('sha256', text);
  return { get: (text) => found.get(nameOf(text)), set: (text, about) => found.set(nameOf(text), about) };
};
