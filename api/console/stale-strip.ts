import { icon } from './parts/icon.ts';
import { type Child, tags } from './parts/tags.ts';
import type { Visit } from './visit.ts';

const { a, div, span } = tags;

/** A page says that it is behind the log if it is behind by at least this many seconds. */
const MIN_SHOWN_SECONDS = 2;

const wordsOf = ({ behindSeconds, missedToken }: Visit['freshness']): readonly string[] => [
  ...(behindSeconds >= MIN_SHOWN_SECONDS ? [`This view is ${behindSeconds} s behind.`] : []),
  ...(missedToken === null ? [] : ['It does not show the latest change yet, although it has waited 2 s for it.']),
];

/**
 * Renders the bar on a page whose data is more than two seconds behind the log, or lacks a change that it should show.
 * Null on other pages. While the bar is there, `live.mjs` fetches the page again, with the token of the missing change.
 */
export const staleStrip = ({ freshness, url }: Pick<Visit, 'freshness' | 'url'>): Child => {
  const words = wordsOf(freshness);
  if (words.length === 0) return null;
  return div(
    { class: 'note stale', role: 'note', 'data-stale': String(freshness.behindSeconds), 'data-missed': freshness.missedToken },
    icon('clock'),
    span(null, words.join(' ')),
    a({ class: 'button small', href: url }, 'Load again'),
  );
};
