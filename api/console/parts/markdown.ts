import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { type Child, element, tags } from './tags.ts';

const { a, blockquote, br, button, code, del, div, em, hr, input, li, ol, p, pre, strong, table, tbody, td, th, thead, tr, ul } = tags;

type Tree = ReturnType<typeof fromMarkdown>;
type Content = Tree['children'][number];
type Of<Type extends Content['type']> = Extract<Content, { readonly type: Type }>;

export type MarkdownRules = {
  /** Returns where a link leads; null if its text is to be shown without a link. */
  readonly link: (url: string) => string | null;
  /** Returns the element of an image; null if the image is not allowed, and its text is to be shown. */
  readonly image: (url: string, alt: string) => Child;
  /** Returns the id of a heading with this text; null if headings have no ids. */
  readonly headingId: (text: string) => string | null;
};

type Context = MarkdownRules & { readonly definitions: ReadonlyMap<string, string> };

const MAX_CHARACTERS = 64 * 1024;
/** Matches lists and quotations inside each other to a depth at which the parser needs too much time or memory. */
const NESTED_TOO_DEEPLY = /^(?:[ \t]*(?:[>*+-]|\d{1,9}[.)])){30}|^[ \t]{100}[ \t]*(?:[*+-]|\d{1,9}[.)])[ \t]/m;

const EXTENSIONS = { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] };

/** Returns the text of a node, without marks. */
const textOf = (node: Content): string => {
  if ('value' in node) return node.value;
  if (node.type === 'break') return '\n';
  if ('alt' in node && node.alt) return node.alt;
  return 'children' in node ? node.children.map(textOf).join('') : '';
};

const linkTo = (url: string, content: readonly Child[], { link }: Context): Child => {
  const href = link(url);
  if (href === null) return content;
  return a(/^(?:https?:|mailto:)/i.test(href) ? { href, rel: 'noopener noreferrer nofollow' } : { href }, ...content);
};

const imageOf = (url: string, alt: string, { image }: Context): Child => image(url, alt) ?? alt;

/** Headings may be linked to: their sign shows the address of the section. */
const headingOf = (node: Of<'heading'>, context: Context): Child => {
  const id = context.headingId(textOf(node));
  const anchor = id === null || node.depth === 1 ? null : a({ class: 'anchor', href: `#${id}`, 'aria-label': 'Link to this section' }, '#');
  return element(`h${node.depth}`, { id }, ...inner(node, context), anchor);
};

/** The button copies the text of the element before it. */
const codeBlock = ({ value }: Of<'code'>): Child =>
  div({ class: 'code' }, pre({ tabindex: 0 }, value), element('copy-button', null, button({ class: 'ghost small' }, 'Copy')));

const listItem = ({ checked, children }: Of<'listItem'>, isSpread: boolean, context: Context): Child =>
  li(
    null,
    typeof checked === 'boolean' ? input({ type: 'checkbox', checked, disabled: true, 'aria-label': checked ? 'Done' : 'Open' }) : null,
    ...children.map((child) => (child.type === 'paragraph' && !isSpread ? inner(child, context) : render(child, context))),
  );

const listOf = ({ ordered, start, children, spread }: Of<'list'>, context: Context): Child => {
  const items = children.map((item) => listItem(item, (spread ?? false) || (item.spread ?? false), context));
  return ordered ? ol({ start: start === 1 ? null : start } as never, ...items) : ul(null, ...items);
};

const tableOf = ({ children: [head, ...rows], align }: Of<'table'>, context: Context): Child => {
  const look = (index: number) => (align?.[index] === 'right' ? 'number' : null);
  const cells = (row: Of<'tableRow'>, tag: typeof td | typeof th) =>
    row.children.map((cell, index) =>
      tag({ class: look(index), ...(tag === th ? { scope: 'col' } : {}) } as never, ...inner(cell, context)),
    );
  return div(
    { class: 'table-box', tabindex: 0 },
    table(null, head ? thead(null, tr(null, ...cells(head, th))) : null, tbody(null, ...rows.map((row) => tr(null, ...cells(row, td))))),
  );
};

const inner = (node: { readonly children: readonly Content[] }, context: Context): Child[] =>
  node.children.map((child) => render(child, context));

const render = (node: Content, context: Context): Child => {
  switch (node.type) {
    case 'text':
    // HTML is shown as the text that it is.
    case 'html':
      return node.value;
    case 'paragraph':
      return p(null, ...inner(node, context));
    case 'heading':
      return headingOf(node, context);
    case 'inlineCode':
      return code(null, node.value);
    case 'code':
      return codeBlock(node);
    case 'emphasis':
      return em(null, ...inner(node, context));
    case 'strong':
      return strong(null, ...inner(node, context));
    case 'delete':
      return del(null, ...inner(node, context));
    case 'break':
      return br(null);
    case 'thematicBreak':
      return hr(null);
    case 'blockquote':
      return blockquote(null, ...inner(node, context));
    case 'list':
      return listOf(node, context);
    case 'table':
      return tableOf(node, context);
    case 'link':
      return linkTo(node.url, inner(node, context), context);
    case 'linkReference':
      return linkTo(context.definitions.get(node.identifier) ?? '', inner(node, context), context);
    case 'image':
      return imageOf(node.url, node.alt ?? '', context);
    case 'imageReference':
      return imageOf(context.definitions.get(node.identifier) ?? '', node.alt ?? '', context);
    case 'footnoteReference':
      return `[${node.identifier}]`;
    case 'footnoteDefinition':
      return div(null, `[${node.identifier}] `, ...inner(node, context));
    default:
      return null;
  }
};

/**
 * Renders a text in Markdown, as GitHub understands it. HTML in it is shown as text, so that the text can do nothing but
 * what the rules allow. A text that is very long or nested very deeply is shown as it is.
 */
export const renderMarkdown = (text: string, rules: MarkdownRules): readonly Child[] => {
  const asItIs = [pre({ tabindex: 0 }, text)];
  if (text.length > MAX_CHARACTERS || NESTED_TOO_DEEPLY.test(text)) return asItIs;
  try {
    const tree = fromMarkdown(text, EXTENSIONS);
    const definitions = tree.children.flatMap((node) => (node.type === 'definition' ? [[node.identifier, node.url] as const] : []));
    return inner(tree, { ...rules, definitions: new Map(definitions) });
  } catch (error) {
    // Some texts, such as thousands of emphases inside each other, exceed the stack.
    if (error instanceof RangeError) return asItIs;
    throw error;
  }
};
