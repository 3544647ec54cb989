import type { Answer } from '../http/ask.ts';
import { curlOf } from './api-drawer.ts';
import { icon } from './parts/icon.ts';
import type { Child } from './parts/tags.ts';
import { element, tags } from './parts/tags.ts';
import { type Visit, withQuery } from './visit.ts';

const { button, details, div, span, summary } = tags;

const hasRows = (answer: Answer<unknown>): boolean => {
  if (!answer.ok) return false;
  const { items } = (answer.value ?? {}) as { readonly items?: unknown };
  return Array.isArray(answer.value) || Array.isArray(items);
};

/** Returns the URL of a page of a tenant as of the position of the log that it shows. */
const linkOf = (visit: Visit, { position }: Answer<unknown>): string =>
  visit.params.tenant_id === undefined || visit.asOf !== null || position === null ? visit.url : withQuery(visit, { as_of: position });

/**
 * Returns the attributes of the content of a page from which `copy-button.mjs` copies: the path of the main call of the
 * page, this call as a command, and the link to the page as it is now.
 */
export const copyAttributes = (visit: Visit, main: Answer<unknown> | null | undefined): Readonly<Record<string, string>> =>
  main?.ok ? { 'data-call': main.call.path, 'data-curl': curlOf(visit.origin, main.call), 'data-link': linkOf(visit, main) } : {};

const entry = (format: string, label: string, hotkey: string | null = null): Child =>
  button({ type: 'button', class: 'ghost small', 'data-copy': format, 'data-hotkey': hotkey }, label);

/**
 * Renders the menu that copies the main answer of a page, with rows also as a table, the call, and a link that shows
 * the same state later. It needs JavaScript; without it, the menu is hidden.
 */
export const copyMenu = (main: Answer<unknown> | null | undefined): Child =>
  main?.ok
    ? element(
        'copy-menu',
        { hidden: true },
        details(
          { class: 'copy-menu' },
          summary({ class: 'button ghost small', title: 'Copy this page' }, icon('copy'), span({ class: 'hidden' }, 'Copy')),
          div(
            { class: 'menu-panel' },
            entry('json', 'Copy as JSON'),
            hasRows(main) ? entry('csv', 'Copy as CSV') : null,
            entry('link', 'Copy the link to this state'),
            entry('curl', 'Copy as curl', 'c'),
            span({ class: 'quiet', role: 'status' }, ''),
          ),
        ),
      )
    : null;
