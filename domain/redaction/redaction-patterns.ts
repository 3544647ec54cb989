import { jsonEqual } from '../aggregate.ts';
import type { Recorded } from '../event.ts';

/** One stream per tenant, with the id of the tenant. */
export const category = 'redaction';

/** RE2 syntax. In bodies of deliveries, every match is replaced; the tag describes what was. */
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

export const replacementOf = (tag: string): string => `[redacted:${tag}]`;

/** In the order in which the tags first occur in `hits`. */
export const sumHits = (hits: Iterable<RedactionHit>): RedactionHit[] => {
  const counts = new Map<string, number>();
  for (const { tag, count } of hits) counts.set(tag, (counts.get(tag) ?? 0) + count);
  return [...counts].map(([tag, count]) => ({ tag, count }));
};
