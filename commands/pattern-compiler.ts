import type { RedactionHit, RedactionPattern } from '../domain/redaction/redaction-patterns.ts';
import { invalid } from '../domain/refusal.ts';

/** Compiles patterns of clients: RE2 syntax, without look-around and back references, so the time is proportional to the length of the text. */
export type PatternCompiler = {
  /** Null if the pattern can be used. */
  readonly faultOf: (pattern: string) => string | null;
  /** A JSONPath query (RFC 9535), with patterns in RE2 syntax. Null if it can be used. */
  readonly faultOfQuery: (path: string) => string | null;
  /** The number of steps that a valid pattern needs for each character of a text; a step takes at most about 13 ns. */
  readonly sizeOf: (pattern: string) => number;
  /** Replaces matches by `[redacted:<tag>]`, one pattern after another. `hits`: tags of patterns that matched. Patterns must be valid. */
  readonly redact: (
    text: string,
    patterns: readonly RedactionPattern[],
  ) => { readonly text: string; readonly hits: readonly RedactionHit[] };
};

/** `pointer` is the place in the request. @throws Refusal invalid */
export const assertPattern = ({ patterns }: { readonly patterns: PatternCompiler }, pointer: string, pattern: string): void => {
  const fault = patterns.faultOf(pattern);
  if (fault !== null) throw invalid(pointer, fault, 'invalid_pattern');
};

/** A JSONPath query; `pointer` is the place in the request. @throws Refusal invalid */
export const assertQuery = ({ patterns }: { readonly patterns: PatternCompiler }, pointer: string, path: string): void => {
  const fault = patterns.faultOfQuery(path);
  if (fault !== null) throw invalid(pointer, fault, 'invalid_query');
};
