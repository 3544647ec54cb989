import type { Answer } from '../../http/ask.ts';
import { icon } from './icon.ts';
import { tags } from './tags.ts';

const { nav, a, span } = tags;

/** Returns the cursor of the next page of a list, which is in the Link header; null on the last page. */
export const nextCursor = ({ headers }: Pick<Answer<unknown>, 'headers'>): string | null => {
  const path = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
  return path === undefined ? null : new URL(path, 'http://localhost').searchParams.get('cursor');
};

type Labels = { readonly first: string; readonly next: string };

const NEWEST_FIRST: Labels = { first: 'Newest', next: 'Older' };

/** Renders links to the next page and to the first page of a list. `linkTo` returns the URL for a cursor. */
export const pager = (
  answer: Answer<unknown>,
  isFirst: boolean,
  linkTo: (cursor: string | null) => string,
  labels: Labels = NEWEST_FIRST,
) => {
  const next = nextCursor(answer);
  if (next === null && isFirst) return null;
  return nav(
    { 'aria-label': 'Pages of the list', class: 'pager' },
    isFirst ? span(null) : a({ class: 'button', href: linkTo(null) }, icon('arrow-left'), labels.first),
    next === null
      ? span({ class: 'quiet' }, 'End of the list')
      : a({ class: 'button', href: linkTo(next), rel: 'next' }, labels.next, icon('arrow-right')),
  );
};
