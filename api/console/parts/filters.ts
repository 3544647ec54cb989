import { type Child, tags } from './tags.ts';

const { nav, a, form, input, button, label, span } = tags;

type Option = { readonly value: string | null; readonly label: Child; readonly href: string };

/** Renders links. Each link filters the list by one value. */
export const filterTabs = (name: string, current: string | null, options: readonly Option[]) =>
  nav(
    { 'aria-label': name, class: 'tabs' },
    ...options.map(({ value, label: text, href }) => a({ href, 'aria-current': value === current ? 'true' : null }, text)),
  );

/** Renders a search field. Searching does not change the other filters of the page. */
export const searchField = (
  action: string,
  { name, value, placeholder }: { name: string; value: string; placeholder: string },
  kept: Readonly<Record<string, string>> = {},
) =>
  form(
    { method: 'get', action, class: 'search', role: 'search' },
    ...Object.entries(kept).map(([key, one]) => input({ type: 'hidden', name: key, value: one })),
    label({ class: 'hidden', for: `search-${name}` }, placeholder),
    input({
      id: `search-${name}`,
      type: 'search',
      name,
      value,
      placeholder,
      'data-hotkey': '/',
      'data-key-name': 'Search',
      autocomplete: 'off',
    }),
    button({ class: 'hidden' }, span(null, 'Search')),
  );
