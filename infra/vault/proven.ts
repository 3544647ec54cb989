import { hash } from 'node:crypto';
import { type Bounded, bounded } from '../bounded.ts';

const MOST = 50_000;

/**
 * What was said of texts that were shown before, API keys as a rule. They are known by their SHA-256 (a tenth of the time that a digest under
 * the pepper takes, and as good against whoever reads memory: their secret has 190 bits); nothing of them is kept.
 */
export const provenTexts = (): Bounded<string, string> => {
  const said = bounded<string, string>(MOST);
  const nameOf = (text: string): string => hash('sha256', text);
  return { get: (text) => said.get(nameOf(text)), set: (text, said_of) => said.set(nameOf(text), said_of) };
};
