import { type Child, tags } from './tags.ts';

const { details, summary, span, ul, li, pre } = tags;

const MAX_ENTRIES = 200;
const MAX_TEXT = 2_000;

const kindOf = (value: unknown): string => (value === null ? 'null' : typeof value);

const leaf = (value: unknown): Child => {
  const text = JSON.stringify(value) ?? 'undefined';
  return span(
    { class: `json-${kindOf(value)}` },
    text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text,
  );
};

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null && Object.keys(value).length > 0;

const node = (name: string, value: unknown, depth: number): Child => {
  const label = span({ class: 'json-key' }, name);
  if (!isContainer(value)) return li(null, label, ': ', leaf(value));
  const entries = Object.entries(value);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  const shown = entries.slice(0, MAX_ENTRIES).map(([key, one]) => node(key, one, depth + 1));
  const more = entries.length > MAX_ENTRIES ? li({ class: 'quiet' }, `${entries.length - MAX_ENTRIES} more`) : null;
  return li(null, details({ open: depth < 1 }, summary(null, label, ' ', span({ class: 'quiet' }, size)), ul(null, ...shown, more)));
};

/** Renders a JSON value as a tree whose nodes can be opened and closed. A text is shown unchanged. */
export const jsonTree = (value: unknown): Child => {
  if (typeof value === 'string') return pre({ class: 'raw' }, value.slice(0, 100_000));
  if (!isContainer(value)) return pre({ class: 'raw' }, JSON.stringify(value) ?? '');
  return ul(
    { class: 'json' },
    ...Object.entries(value)
      .slice(0, MAX_ENTRIES)
      .map(([key, one]) => node(key, one, 0)),
  );
};
