import { decodeHTML, decodeHTMLAttribute } from 'entities';
import { BREAKS, CELLS, ENDED_BY, LISTS, PARAGRAPH, PREFORMATTED, VOID } from './html-elements.ts';
import { type Hiding, hidingOf, rulesIn, type SheetRules } from './html-hidden.ts';
import { attributesIn, type HtmlTag, readHtml } from './html-tokens.ts';
import { appendText, appendWords, breakLine, emptyLines, startBlock, type TextLines, wholeText } from './text-lines.ts';

type List = { readonly isOrdered: boolean; number: number };
type Element = {
  readonly name: string;
  readonly isHidden: boolean;
  readonly isInvisible: boolean;
  readonly hasNoSize: boolean;
  readonly isPreformatted: boolean;
  readonly prefix: string;
  readonly list: List | null;
  readonly breaks: number;
  readonly href: string | null;
};
type State = {
  readonly text: TextLines;
  readonly open: Element[];
  readonly counts: Map<string, number>;
  /** What the style sheets say, by selectors. */
  readonly sheets: { readonly [Rule in keyof SheetRules]: Set<string> };
  link: string[];
};

const ROOT: Element = {
  ...{ name: '', isHidden: false, isInvisible: false, hasNoSize: false, isPreformatted: false },
  ...{ prefix: '', list: null, breaks: 0, href: null },
};
const MAX_OPEN = 512;
/** More of a document is not read: its text would be cut, and the document becomes a file. */
const MAX_HTML_READ = 4_000_000;

const topOf = ({ open }: State): Element => open.at(-1) ?? ROOT;

/** Removes characters that are not shown, such as those within words or in a preheader. */
const visible = (text: string): string => text.replace(/\u00ad|\u034f|\u200b|\u2060|\ufeff/g, '').replaceAll('\u00a0', ' ');

const hidesText = ({ isHidden, isInvisible, hasNoSize }: Element): boolean => isHidden || isInvisible || hasNoSize;

const addText = (state: State, raw: string): void => {
  const { isPreformatted } = topOf(state);
  if (hidesText(topOf(state))) return;
  const text = raw.includes('&') ? decodeHTML(raw) : raw;
  if (state.link.length > 0) state.link.push(text);
  if (!isPreformatted) {
    appendWords(state.text, text);
    return;
  }
  const lines = text.split(/\r\n?|\n/);
  for (const [index, line] of lines.entries()) {
    if (index > 0) breakLine(state.text);
    if (line !== '') appendText(state.text, line);
  }
};

const LINK = /^(?:https?|ftps?|mailto|tel|sms):/i;

const plainLink = (href: string): string =>
  href
    .replace(/^(?:https?:\/\/|mailto:|tel:|sms:)/i, '')
    .replace(/\/$/, '')
    .toLowerCase();

const endLink = (state: State, element: Element): void => {
  const { href } = element;
  const shown = state.link.join('').trim();
  const isEmpty = state.link.length <= 1;
  state.link = [];
  if (isEmpty && hidesText(element)) return;
  if (href !== null && plainLink(shown) !== plainLink(href)) appendWords(state.text, shown === '' ? `<${href}>` : ` <${href}>`);
};

const pop = (state: State): void => {
  const element = state.open.pop()!;
  const { name, breaks, isHidden } = element;
  state.counts.set(name, state.counts.get(name)! - 1);
  if (!isHidden && name === 'a') endLink(state, element);
  if (!isHidden && breaks > 0) startBlock(state.text, breaks);
  state.text.prefix = topOf(state).prefix;
};

/** Ends the innermost open element with one of these names and all in it, unless one of `within` comes first. */
const endElement = (state: State, ends: readonly string[], within: readonly string[]): void => {
  if (!ends.some((name) => state.counts.get(name))) return;
  for (let at = state.open.length - 1; at >= 0; at--) {
    const { name } = state.open[at]!;
    if (ends.includes(name)) {
      while (state.open.length > at) pop(state);
      return;
    }
    if (within.includes(name)) return;
  }
};

const NOTHING_HIDDEN: Hiding = { isHidden: false, isInvisible: undefined, hasNoSize: undefined };

/** The style of an element counts more than style sheets, and classes more than names. */
const hidingBy = (state: State, name: string, attributes: ReadonlyMap<string, string>): Hiding => {
  const style = attributes.get('style');
  const own = style === undefined ? NOTHING_HIDDEN : hidingOf(decodeHTMLAttribute(style));
  const { hidden, invisible, noSize, sized } = state.sheets;
  const isSized = name === 'font' && attributes.has('size') ? false : undefined;
  const classes = (attributes.get('class') ?? '').split(/\s+/).map((one) => `.${one}`);
  const isIn = (set: Set<string>): boolean => classes.some((one) => set.has(one)) || set.has(`#${attributes.get('id')}`);
  const inSheets = isIn(sized) ? false : isIn(noSize) || (sized.has(name) ? false : undefined);
  return {
    isHidden: own.isHidden || attributes.has('hidden') || isIn(hidden),
    isInvisible: own.isInvisible ?? (isIn(invisible) || undefined),
    hasNoSize: own.hasNoSize ?? isSized ?? inSheets,
  };
};

const markerOf = (state: State): string => {
  const list = state.open.findLast(({ list: found }) => found !== null)?.list;
  return list?.isOrdered ? `${list.number++}. ` : '* ';
};

const hrefOf = (attributes: ReadonlyMap<string, string>): string | null => {
  const href = decodeHTMLAttribute(attributes.get('href') ?? '')
    .replace(/[\t\n\r]/g, '')
    .trim();
  return LINK.test(href) ? href : null;
};

const breaksOf = (state: State, name: string, attributes: ReadonlyMap<string, string>): number => {
  const breaks = BREAKS.get(name) ?? 0;
  const isList = LISTS.has(name);
  if (breaks < 2) return breaks;
  const hasNoMargin =
    name === 'p' &&
    (/(?:^|;)\s*margin(?:-bottom)?\s*:\s*0/i.test(attributes.get('style') ?? '') || /\bMso/.test(attributes.get('class') ?? ''));
  return hasNoMargin || (isList && state.open.some(({ list }) => list !== null)) ? 1 : breaks;
};

const showVoid = (state: State, name: string, attributes: ReadonlyMap<string, string>): void => {
  const parent = topOf(state);
  const { isHidden, isInvisible = parent.isInvisible } = hidingBy(state, name, attributes);
  if (parent.isHidden || isHidden || isInvisible) return;
  if (name === 'br') breakLine(state.text);
  const alt = name === 'img' ? decodeHTMLAttribute(attributes.get('alt') ?? '').trim() : '';
  if (name === 'img' && state.link.length > 0) state.link.push(alt);
  if (alt !== '') appendWords(state.text, `[${alt}]`);
  if (name !== 'hr') return;
  startBlock(state.text, 1);
  appendText(state.text, '---');
  startBlock(state.text, 1);
};

const isPreformattedBy = (name: string, style: string, parent: Element): boolean => {
  if (PREFORMATTED.has(name) || /white-space\s*:\s*(?:pre|break-spaces)/i.test(style)) return true;
  return parent.isPreformatted && !/white-space\s*:\s*no/i.test(style);
};

const listOf = (name: string, start: string | undefined): List | null => {
  if (!LISTS.has(name)) return null;
  return { isOrdered: name === 'ol', number: Number.parseInt(start ?? '1', 10) || 1 };
};

const indentOf = (name: string, marker: string): string => (name === 'blockquote' ? '> ' : ' '.repeat(name === 'dd' ? 2 : marker.length));

/** Returns whether the element must be known as open: it hides its content, or changes how it is shown. */
const matters = ({ name, isHidden, isInvisible, hasNoSize, isPreformatted, breaks, href }: Element, parent: Element): boolean =>
  isHidden ||
  isInvisible !== parent.isInvisible ||
  hasNoSize !== parent.hasNoSize ||
  breaks > 0 ||
  href !== null ||
  isPreformatted !== parent.isPreformatted ||
  CELLS.has(name);

const openElement = (state: State, name: string, attributes: ReadonlyMap<string, string>): void => {
  const parent = topOf(state);
  const hiding = hidingBy(state, name, attributes);
  const isHidden = parent.isHidden || hiding.isHidden;
  const { isInvisible = parent.isInvisible, hasNoSize = parent.hasNoSize } = hiding;
  const isPreformatted = isPreformattedBy(name, attributes.get('style') ?? '', parent);
  const marker = name === 'li' && !isHidden ? markerOf(state) : '';
  const element: Element = {
    ...{ name, isHidden, isInvisible, hasNoSize, isPreformatted, prefix: parent.prefix + indentOf(name, marker) },
    ...{
      list: listOf(name, attributes.get('start')),
      breaks: breaksOf(state, name, attributes),
      href: name === 'a' ? hrefOf(attributes) : null,
    },
  };
  if (!matters(element, parent) || state.open.length >= MAX_OPEN) return;
  const { text } = state;
  if (!isHidden && element.breaks > 0) startBlock(text, element.breaks);
  if (!isHidden && CELLS.has(name) && text.current.length > 0) text.space = '\t';
  state.open.push(element);
  state.counts.set(name, (state.counts.get(name) ?? 0) + 1);
  text.prefix = element.prefix;
  if (marker !== '') text.marker = marker;
  if (name === 'a' && !isHidden) state.link = [''];
};

const TABLE_PARTS = new Set(['td', 'th', 'tr', 'tbody', 'thead', 'tfoot', 'table']);

const onEndTag = (state: State, name: string): void => {
  if (name === 'br') breakLine(state.text);
  if (name === 'q') addText(state, '”');
  const within = ['table', 'td', 'th'].filter((one) => one !== name && (one === 'table' || !TABLE_PARTS.has(name)));
  endElement(state, [name], within);
};

const setNumber = (state: State, value: string): void => {
  const list = state.open.findLast(({ list: found }) => found !== null)?.list;
  if (list) list.number = Number.parseInt(value, 10) || list.number;
};

const onStartTag = (state: State, { name, attributes: text }: HtmlTag): void => {
  const attributes = attributesIn(text);
  const ended = ENDED_BY.get(name);
  if (BREAKS.has(name)) endElement(state, PARAGRAPH.ends, PARAGRAPH.within);
  if (ended) endElement(state, ended.ends, ended.within);
  if (name === 'a') endElement(state, ['a'], PARAGRAPH.within);
  if (name === 'li' && attributes.has('value')) setNumber(state, attributes.get('value')!);
  if (VOID.has(name)) showVoid(state, name, attributes);
  else openElement(state, name, attributes);
  if (name === 'q') addText(state, '“');
};

/**
 * The text that a mail program shows, without what is hidden. Links are followed by their address; pictures become their alternative text.
 */
export const htmlToText = (html: string): string => {
  const state: State = {
    text: emptyLines(),
    open: [],
    counts: new Map(),
    sheets: { hidden: new Set(), invisible: new Set(), noSize: new Set(), sized: new Set() },
    link: [],
  };
  readHtml(html.slice(0, MAX_HTML_READ), {
    onText: (text) => addText(state, text),
    onTag: (tag) => (tag.isEnd ? onEndTag(state, tag.name) : onStartTag(state, tag)),
    onStyle: (css) => {
      for (const [rule, selectors] of Object.entries(rulesIn(css)))
        for (const one of selectors) state.sheets[rule as keyof SheetRules].add(one);
    },
  });
  while (state.open.length > 0) pop(state);
  return visible(wholeText(state.text));
};
