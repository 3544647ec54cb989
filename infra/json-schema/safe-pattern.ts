import { RE2JS } from 're2js';

/** The maximum length of a pattern, in characters. */
export const MAX_PATTERN_LENGTH = 1_024;

/** A pattern that can be tested in time proportional to the length of the text and to `size`. */
export type SafePattern = { readonly size: number; readonly test: (text: string) => boolean };

/**
 * Compiles a pattern of a JSON Schema, which must be an ECMAScript pattern without look-around and back references. It
 * is matched by RE2, which never backtracks, so no pattern can take exponential time. `\s` and `\b` treat only ASCII
 * characters as spaces and letters.
 * @throws Error if the pattern is not valid, too long, or needs a feature that RE2 does not have
 */
export const safePattern = (pattern: string): SafePattern => {
  if (pattern.length > MAX_PATTERN_LENGTH) throw new Error(`must have at most ${MAX_PATTERN_LENGTH} characters`);
  // This line only checks the syntax of the pattern. Nothing is matched with this RegExp.
  new RegExp(pattern, 'u');
  // RE2's translation would turn a named back reference into literal text.
  if (/(?<!\\)(?:\\\\)*\\k</.test(pattern)) throw new Error('back references are not supported');
  const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
  return { size: compiled.programSize(), test: (text) => compiled.test(text) };
};
