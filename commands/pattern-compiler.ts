import type { RedactionHit, RedactionPattern } from '../domain/redaction/redaction-patterns.ts';
import { invalid } from '../domain/refusal.ts';

/**
 * Checks and applies patterns that clients have written. They have the syntax of RE2: no look-around and no back
 * references, so the time to match grows only with the length of the text.
 */
export type PatternCompiler = {
  /** Returns why a pattern is not usable; null if it is. */
  readonly faultOf: (pattern: string) => string | null;
  /** Returns why a JSONPath query (RFC 9535) is not usable; null if it is. Its patterns have the syntax of RE2, too. */
  readonly faultOfQuery: (path: string) => string | null;
  /** Returns the work that a usable pattern takes for each character of a text, in steps of about 13 ns at worst. */
  readonly sizeOf: (pattern: string) => number;
  /**
   * Replaces each match of the patterns, in order, by `[redacted:<tag>]`. `hits` lists the tags that replaced
   * something. The patterns must be usable.
   */
  readonly redact: (
    text: string,
    patterns: readonly RedactionPattern[],
  ) => { readonly text: string; readonly hits: readonly RedactionHit[] };
};

/** Checks the pattern that the request has at `pointer`. @throws Refusal invalid */
export const assertPattern = ({ patterns }: { readonly patterns: PatternCompiler }, pointer: string, pattern: string): void => {
  const fault = patterns.faultOf(pattern);
  if (fault !== null) throw invalid(pointer, fault, 'invalid_pattern');
};

/** Checks the JSONPath query that the request has at `pointer`. @throws Refusal invalid */
export const assertQuery = ({ patterns }: { readonly patterns: PatternCompiler }, pointer: string, path: string): void => {
  const fault = patterns.faultOfQuery(path);
  if (fault !== null) throw invalid(pointer, fault, 'invalid_query');
};
