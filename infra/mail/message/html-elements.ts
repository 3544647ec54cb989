/** The number of line ends around an element; with two, an empty line. Other elements are inline. */
export const BREAKS: ReadonlyMap<string, number> = new Map([
  ...['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'ul', 'ol', 'dl', 'pre', 'figure'].map((name) => [name, 2] as const),
  ...['div', 'section', 'article', 'header', 'footer', 'nav', 'main', 'aside', 'address', 'li', 'dt', 'dd'].map(
    (name) => [name, 1] as const,
  ),
  ...['table', 'tbody', 'thead', 'tfoot', 'tr', 'caption', 'form', 'center', 'body', 'html', 'option'].map((name) => [name, 1] as const),
  ...['fieldset', 'legend', 'details', 'summary', 'figcaption', 'hr', 'dir', 'menu', 'listing', 'xmp'].map((name) => [name, 1] as const),
]);
export const VOID = new Set([
  'area',
  'base',
  'br',
  'col',
  'embed',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'param',
  'source',
  'track',
  'wbr',
]);
export const CELLS = new Set(['td', 'th']);
export const PREFORMATTED = new Set(['pre', 'xmp', 'listing', 'textarea']);

/** Elements that end when another one starts, and those at which the search for them stops. */
export type Ended = { readonly ends: readonly string[]; readonly within: readonly string[] };
const CELL: Ended = { ends: ['td', 'th'], within: ['tr', 'table'] };
const TERM: Ended = { ends: ['dt', 'dd'], within: ['dl', 'table'] };
export const ENDED_BY: ReadonlyMap<string, Ended> = new Map<string, Ended>([
  ['li', { ends: ['li'], within: ['ul', 'ol', 'table'] }],
  ['dt', TERM],
  ['dd', TERM],
  ['td', CELL],
  ['th', CELL],
  ['tr', { ends: ['tr'], within: ['table'] }],
  ['option', { ends: ['option'], within: ['table'] }],
]);
export const PARAGRAPH: Ended = { ends: ['p'], within: ['table', 'td', 'th'] };
export const LISTS = new Set(['ul', 'ol', 'menu', 'dir']);
