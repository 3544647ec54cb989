import { RE2JS } from 're2js';

/** In characters. */
export const MAX_PATTERN_LENGTH = 1_024;

/** A pattern that can be tested in time proportional to the length of the text and to `size`. */
export type SafePattern = { readonly size: number; readonly test: (text: string) => boolean };

/**
 * Compiles an ECMAScript pattern for RE2, which never backtracks. `\s` and `\b` treat only ASCII characters as spaces and letters.
 * @throws Error if the pattern is not valid, too long, or needs look-around, back references or another feature that RE2 lacks
 */
export const safePattern = (pattern: string): SafePattern => {
  if (pattern.length > MAX_PATTERN_LENGTH) throw new Error(`must have at most ${MAX_PATTERN_LENGTH} characters`);
  // This only checks the syntax; nothing is matched with this RegExp.
  new RegExp(pattern, 'u');
  // RE2's translation would turn a named back reference into literal text.
  if (/(?<!\\)(?:\\\\)*\\k</.test(pattern)) throw new Error('back references are not supported');
  const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
  return { size: compiled.programSize(), test: (text) => compiled.test(text) };
};
