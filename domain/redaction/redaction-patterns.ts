import { jsonEqual } from '../aggregate.ts';
import type { Recorded } from '../event.ts';

/** The streams with the redaction patterns of a tenant. The id of the stream is that of the tenant. */
export const category = 'redaction';

/** Matches of `pattern` (RE2 syntax) are replaced in the bodies of deliveries. `tag` says what was replaced. */
export type RedactionPattern = { readonly pattern: string; readonly tag: string };

/** How many matches of the patterns with this tag were replaced. */
export type RedactionHit = { readonly tag: string; readonly count: number };

export const MAX_PATTERNS = 50;

export type RedactionPatternsEvent = { type: 'RedactionPatternsReplaced'; data: { patterns: readonly RedactionPattern[] } };

export type RedactionPatterns = { readonly patterns: readonly RedactionPattern[] };

export const initial: RedactionPatterns = { patterns: [] };

export const evolve = (_: RedactionPatterns, { data }: Recorded<RedactionPatternsEvent>): RedactionPatterns => data;

/** Replaces all redaction patterns of the tenant. */
export const replace =
  (patterns: readonly RedactionPattern[]) =>
  (current: RedactionPatterns): RedactionPatternsEvent[] =>
    jsonEqual(current.patterns, patterns) ? [] : [{ type: 'RedactionPatternsReplaced', data: { patterns } }];

/** The text that takes the place of a match. */
export const replacementOf = (tag: string): string => `[redacted:${tag}]`;

/** Adds up the counts of each tag, in the order in which the tags come first. */
export const sumHits = (hits: Iterable<RedactionHit>): RedactionHit[] => {
  const counts = new Map<string, number>();
  for (const { tag, count } of hits) counts.set(tag, (counts.get(tag) ?? 0) + count);
  return [...counts].map(([tag, count]) => ({ tag, count }));
};
