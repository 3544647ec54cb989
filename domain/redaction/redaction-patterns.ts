import { jsonEqual } from '../aggregate.ts';
import type { Recorded } from '../event.ts';

/** The redaction patterns of a tenant. Each tenant has one stream, whose id is the id of the tenant. */
export const category = 'redaction';

/**
 * In the bodies of deliveries, matches of `pattern` (RE2 syntax) are replaced. `tag` describes the replaced content.
 */
export type RedactionPattern = { readonly pattern: string; readonly tag: string };

/** The number of matches that were replaced with this tag. */
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

/** Returns the text that replaces a match. */
export const replacementOf = (tag: string): string => `[redacted:${tag}]`;

/** Adds up the counts of each tag. The result has the tags in the order of their first hits. */
export const sumHits = (hits: Iterable<RedactionHit>): RedactionHit[] => {
  const counts = new Map<string, number>();
  for (const { tag, count } of hits) counts.set(tag, (counts.get(tag) ?? 0) + count);
  return [...counts].map(([tag, count]) => ({ tag, count }));
};
