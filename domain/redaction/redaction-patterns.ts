import { jsonEqual } from '../aggregate.ts';
import type { Recorded } from '../event.ts';

/** The redaction patterns of a tenant. Each tenant has one stream, whose id is the id of the tenant. */
export const category = 'redaction';

/**
 * A pattern (RE2 syntax) and a tag. In the bodies of deliveries, every match of the pattern is replaced; the tag
 * describes what was replaced.
 */
export type RedactionPattern = { readonly pattern: string; readonly tag: string };

export type RedactionHit = { readonly tag: string; readonly count: number };

export const MAX_PATTERNS = 50;

export type RedactionPatternsEvent = { type: 'RedactionPatternsReplaced'; data: { patterns: readonly RedactionPattern[] } };

export type RedactionPatterns = { readonly patterns: readonly RedactionPattern[] };

export const initial: RedactionPatterns = { patterns: [] };

export const evolve = (_: RedactionPatterns, { data }: Recorded<RedactionPatternsEvent>): RedactionPatterns => data;

export const replace =
  (patterns: readonly RedactionPattern[]) =>
  (current: RedactionPatterns): RedactionPatternsEvent[] =>
    jsonEqual(current.patterns, patterns) ? [] : [{ type: 'RedactionPatternsReplaced', data: { patterns } }];

/** Returns the text that takes the place of a match with this tag. */
export const replacementOf = (tag: string): string => `[redacted:${tag}]`;

/** Adds up the counts for each tag. The tags in the result have the order in which they first occur in `hits`. */
export const sumHits = (hits: Iterable<RedactionHit>): RedactionHit[] => {
  const counts = new Map<string, number>();
  for (const { tag, count } of hits) counts.set(tag, (counts.get(tag) ?? 0) + count);
  return [...counts].map(([tag, count]) => ({ tag, count }));
};
