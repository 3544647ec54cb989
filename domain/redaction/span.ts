import { type RedactionHit, replacementOf, sumHits } from './redaction-patterns.ts';

/** `to` is exclusive. `tag` describes the content. */
export type Span = { readonly from: number; readonly to: number; readonly tag: string };

/** Sorted by start; a span that overlaps an earlier one is left out. If spans have the same start, the first in the list wins. */
export const withoutOverlaps = (spans: readonly Span[]): readonly Span[] => {
  if (spans.length < 2) return spans;
  let end = 0;
  return spans
    .toSorted((one, other) => one.from - other.from)
    .filter(({ from, to }) => {
      if (from < end) return false;
      end = to;
      return true;
    });
};

export const hitsOf = (spans: readonly Span[]): RedactionHit[] => sumHits(spans.map(({ tag }) => ({ tag, count: 1 })));

/** The spans must be sorted and must not overlap. */
export const replaceSpans = (text: string, spans: readonly Span[]): string => {
  let replaced = '';
  let at = 0;
  for (const { from, to, tag } of spans) {
    replaced += text.slice(at, from) + replacementOf(tag);
    at = to;
  }
  return replaced + text.slice(at);
};
