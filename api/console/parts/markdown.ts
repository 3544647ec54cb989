import MarkdownIt from 'markdown-it';
import { type Child, element, tags } from './tags.ts';

const { a, br, button, code, div, hr, input, li, ol, p, pre, table, td, th } = tags;

export type MarkdownRules = {
  /** Returns where a link leads; null if its text is to be shown without a link. */
  readonly link: (url: string) => string | null;
  /** Returns the element of an image; null if the image is not allowed, and its text is to be shown. */
  readonly image: (url: string, alt: string) => Child;
  /** Returns the id of a heading with this text; null if headings have no ids. */
  readonly headingId: (text: string) => string | null;
  /** The level of the highest headings on the page. Default: 1. */
  readonly topHeading?: number;
};

const parser = new MarkdownIt({ html: false, linkify: true });
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
// Each link is checked by the rules, and is shown as its text if they refuse it.
parser.validateLink = () => true;

type Token = ReturnType<typeof parser.parse>[number];

/** A token with what is inside it. */
type Node = { readonly token: Token; readonly children: readonly Node[] };

const MAX_CHARACTERS = 64 * 1024;
/** For each opening bracket, the parser may search the rest of the text for the closing one. */
const MAX_BRACKETS = 4_000;
/** Matches lists and quotations inside each other that are deeper than the parser reads: it would leave out what is inside. */
const NESTED_TOO_DEEPLY = /^(?:[ \t]*(?:[>*+-]|\d{1,9}[.)])){30}|^[ \t]{100}[ \t]*(?:[*+-]|\d{1,9}[.)])[ \t]/m;

/** Makes a tree of a list in which each element has a token at its beginning and one at its end. */
const nodesOf = (tokens: readonly Token[]): readonly Node[] => {
  const root: Node[] = [];
  const open: Node[][] = [root];
  for (const token of tokens) {
    if (token.nesting < 0) {
      open.pop();
      continue;
    }
    const children: Node[] = [];
    open.at(-1)!.push({ token, children: token.children && token.type !== 'image' ? nodesOf(token.children) : children });
    if (token.nesting > 0) open.push(children);
  }
  return root;
};

/** Returns the text of a node, without marks. */
const textOf = ({ token, children }: Node): string => {
  if (token.type === 'softbreak' || token.type === 'hardbreak') return '\n';
  return children.length > 0 ? children.map(textOf).join('') : token.content;
};

const linkTo = (url: string, content: readonly Child[], { link }: MarkdownRules): Child => {
  const href = link(url);
  if (href === null) return content;
  return a(/^(?:https?:|mailto:)/i.test(href) ? { href, rel: 'noopener noreferrer nofollow' } : { href }, ...content);
};

/** Other pages may link to a heading: the sign beside it links to the section. */
const headingOf = (node: Node, rules: MarkdownRules): Child => {
  const level = Number(node.token.tag.slice(1));
  const id = rules.headingId(node.children.map(textOf).join(''));
  const anchor = id === null || level === 1 ? null : a({ class: 'anchor', href: `#${id}`, 'aria-label': 'Link to this section' }, '#');
  return element(`h${Math.min(6, level + (rules.topHeading ?? 1) - 1)}`, { id }, ...inner(node, rules), anchor);
};

/** The button copies the text of the element before it. */
const codeBlock = ({ content }: Token): Child =>
  div(
    { class: 'code' },
    pre({ tabindex: 0 }, content.replace(/\n$/, '')),
    element('copy-button', null, button({ class: 'ghost small' }, 'Copy')),
  );

const TASK = /^\[([ xX])\] /;

/** An entry that begins with `[ ]` or `[x]` is a task. */
const listItem = (node: Node, rules: MarkdownRules): Child => {
  const first = node.children[0]?.children[0]?.children[0]?.token;
  const [mark, state] = TASK.exec(first?.content ?? '') ?? [];
  if (first && mark) first.content = first.content.slice(mark.length);
  const isDone = state !== ' ';
  const box = mark ? input({ type: 'checkbox', checked: isDone, disabled: true, 'aria-label': isDone ? 'Done' : 'Open' }) : null;
  return li(null, box, ...inner(node, rules));
};

const cellOf = (node: Node, tag: typeof td | typeof th, rules: MarkdownRules): Child => {
  const isRight = node.token.attrGet('style') === 'text-align:right';
  return tag({ class: isRight ? 'number' : null, ...(tag === th ? { scope: 'col' } : {}) }, ...inner(node, rules));
};

const inner = ({ children }: Node, rules: MarkdownRules): Child[] => children.map((child) => render(child, rules));

const render = (node: Node, rules: MarkdownRules): Child => {
  const { token } = node;
  switch (token.type) {
    case 'text':
      return token.content;
    case 'inline':
      return inner(node, rules);
    case 'softbreak':
      return '\n';
    case 'hardbreak':
      return br(null);
    case 'paragraph_open':
      return token.hidden ? inner(node, rules) : p(null, ...inner(node, rules));
    case 'heading_open':
      return headingOf(node, rules);
    case 'code_inline':
      return code(null, token.content);
    case 'fence':
    case 'code_block':
      return codeBlock(token);
    case 'hr':
      return hr(null);
    case 'list_item_open':
      return listItem(node, rules);
    case 'ordered_list_open': {
      const start = token.attrGet('start');
      return ol({ start: start === null ? null : Number(start) }, ...inner(node, rules));
    }
    case 'table_open':
      return div({ class: 'table-box', tabindex: 0 }, table(null, ...inner(node, rules)));
    case 'th_open':
      return cellOf(node, th, rules);
    case 'td_open':
      return cellOf(node, td, rules);
    case 'link_open':
      return linkTo(String(token.attrGet('href')), inner(node, rules), rules);
    case 'image':
      return rules.image(String(token.attrGet('src')), token.content) ?? token.content;
    case 'bullet_list_open':
    case 'blockquote_open':
    case 'thead_open':
    case 'tbody_open':
    case 'tr_open':
    case 'em_open':
    case 'strong_open':
      return element(token.tag, null, ...inner(node, rules));
    case 's_open':
      return element('del', null, ...inner(node, rules));
    default:
      return token.content;
  }
};

/**
 * Renders a text in Markdown, as GitHub understands it. HTML in it is shown as text, so that the text can do nothing but
 * what the rules allow. A text that is very long, nested very deeply, or full of brackets is shown as it is.
 */
export const renderMarkdown = (text: string, rules: MarkdownRules): readonly Child[] =>
  text.length > MAX_CHARACTERS || text.split('[', MAX_BRACKETS + 2).length > MAX_BRACKETS + 1 || NESTED_TOO_DEEPLY.test(text)
    ? [pre({ tabindex: 0 }, text)]
    : nodesOf(parser.parse(text, {})).map((node) => render(node, rules));
