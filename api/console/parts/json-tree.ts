import { isRawNumber } from '../../http/shown-json.ts';
import { icon } from './icon.ts';
import { copyButton } from './short-id.ts';
import { type Child, tags } from './tags.ts';

const { a, details, summary, span, ul, li, pre } = tags;

const MAX_ENTRIES = 200;
const MAX_TEXT = 2_000;

const kindOf = (value: unknown): string => {
  if (value === null) return 'null';
  return isRawNumber(value) ? 'number' : typeof value;
};

const leaf = (value: unknown): Child => {
  const text = JSON.stringify(value) ?? 'undefined';
  return span(
    { class: `json-${kindOf(value)}` },
    text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text,
  );
};

const isContainer = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !isRawNumber(value) && Object.keys(value).length > 0;

/**
 * The tools beside each node: a button that copies its path (a JSON pointer) and, if `listWith` returns a URL for a
 * value, a link to the list with this value.
 */
export type TreeTools = { readonly listWith: (value: unknown) => string | null };

const toolsOf = (pointer: string, value: unknown, tools: TreeTools | undefined): Child => {
  if (!tools) return null;
  const list = tools.listWith(value);
  const link =
    list === null
      ? null
      : a({ class: 'button ghost small', href: list, 'aria-label': 'Filter by this value', title: 'Filter by this value' }, icon('search'));
  return span({ class: 'json-tools', 'data-pointer': pointer }, copyButton(pointer, `the path ${pointer}`), link);
};

const pointerTo = (parent: string, name: string): string => `${parent}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

type Place = { readonly pointer: string; readonly depth: number; readonly tools: TreeTools | undefined };

const node = (name: string, value: unknown, { pointer: parent, depth, tools }: Place): Child => {
  const label = span({ class: 'json-key' }, name);
  const pointer = pointerTo(parent, name);
  if (!isContainer(value)) return li(null, label, ': ', leaf(value), toolsOf(pointer, value, tools));
  const entries = Object.entries(value);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  const shown = entries.slice(0, MAX_ENTRIES).map(([key, one]) => node(key, one, { pointer, depth: depth + 1, tools }));
  const more = entries.length > MAX_ENTRIES ? li({ class: 'quiet' }, `${entries.length - MAX_ENTRIES} more`) : null;
  return li(
    null,
    details({ open: depth < 1 }, summary(null, label, ' ', span({ class: 'quiet' }, size)), ul(null, ...shown, more)),
    toolsOf(pointer, value, tools),
  );
};

/**
 * Renders a JSON value as a tree whose nodes can be opened and closed. A text is shown unchanged. `tools` are shown
 * beside each node.
 */
export const jsonTree = (value: unknown, tools?: TreeTools): Child => {
  if (typeof value === 'string') return pre({ class: 'raw' }, value.slice(0, 100_000));
  if (!isContainer(value)) return pre({ class: 'raw' }, JSON.stringify(value) ?? '');
  return ul(
    { class: 'json' },
    ...Object.entries(value)
      .slice(0, MAX_ENTRIES)
      .map(([key, one]) => node(key, one, { pointer: '', depth: 0, tools })),
  );
};
