import type { RedactionHit, RedactionPattern } from '../domain/redaction/redaction-patterns.ts';
import { invalid } from '../domain/refusal.ts';

/**
 * Checks and applies patterns that clients have written. Patterns have the RE2 syntax, without look-around and back
 * references, so the time to match is proportional to the length of the text.
 */
export type PatternCompiler = {
  /** Returns why a pattern cannot be used; null if it can. */
  readonly faultOf: (pattern: string) => string | null;
  /**
   * Returns why a JSONPath query (RFC 9535) cannot be used; null if it can. Patterns in queries have the RE2 syntax,
   * too.
   */
  readonly faultOfQuery: (path: string) => string | null;
  /**
   * Returns the number of steps that a valid pattern needs for each character of a text. A step takes at most about 13
   * ns.
   */
  readonly sizeOf: (pattern: string) => number;
  /**
   * Replaces each match of the patterns by `[redacted:<tag>]`, one pattern after another. `hits` lists the tags of the
   * patterns that matched. The patterns must be valid.
   */
  readonly redact: (
    text: string,
    patterns: readonly RedactionPattern[],
  ) => { readonly text: string; readonly hits: readonly RedactionHit[] };
};

/** Checks the pattern at `pointer` in the request. @throws Refusal invalid */
export const assertPattern = ({ patterns }: { readonly patterns: PatternCompiler }, pointer: string, pattern: string): void => {
  const fault = patterns.faultOf(pattern);
  if (fault !== null) throw invalid(pointer, fault, 'invalid_pattern');
};

/** Checks the JSONPath query at `pointer` in the request. @throws Refusal invalid */
export const assertQuery = ({ patterns }: { readonly patterns: PatternCompiler }, pointer: string, path: string): void => {
  const fault = patterns.faultOfQuery(path);
  if (fault !== null) throw invalid(pointer, fault, 'invalid_query');
};
