/** The name is in lower case; attributes are as written. */
export type HtmlTag = { readonly name: string; readonly isEnd: boolean; readonly attributes: string };

export type HtmlHandlers = {
  readonly onText: (text: string) => void;
  readonly onTag: (tag: HtmlTag) => void;
  readonly onStyle: (css: string) => void;
};

/** Their content is not markup, and is not shown. */
const RAW = new Set(['script', 'style', 'title', 'iframe', 'noembed', 'noframes', 'template', 'xml']);
/** Any other `<` is a text. */
const MARKUP = /<(?=[a-z!?/])/gi;
const NAME = /[a-z][^\s/>]*/iy;
const MAX_NAME = 40;
const GREATER = 0x3e;
const EQUALS = 0x3d;

/** -1 if there is none. A `>` within a quoted value belongs to the value. */
const tagEnd = (html: string, from: number): number => {
  for (let at = from; at < html.length; at++) {
    const unit = html.charCodeAt(at);
    if (unit === GREATER) return at;
    if (unit !== EQUALS) continue;
    let start = at + 1;
    while (html.charCodeAt(start) <= 0x20) start++;
    const quote = html[start];
    const end = quote === '"' || quote === "'" ? html.indexOf(quote, start + 1) : -1;
    at = end > 0 ? end : start - 1;
  }
  return -1;
};

/** Returns the place after a comment, a declaration or another construct that is not shown. */
const afterMarkup = (html: string, at: number): number => {
  if (!html.startsWith('<!--', at)) return html.indexOf('>', at) + 1 || html.length;
  if (html.startsWith('<!-->', at)) return at + 5;
  const end = html.indexOf('-->', at + 4);
  return end < 0 ? html.length : end + 3;
};

const rawEnd = (html: string, from: number, name: string): number => {
  const end = new RegExp(`</${name}(?=[\\s/>])`, 'gi');
  end.lastIndex = from;
  return end.exec(html)?.index ?? html.length;
};

/** Reads the tags and the texts of HTML, in time that grows linearly with its length, whatever it contains. */
export const readHtml = (html: string, { onText, onTag, onStyle }: HtmlHandlers): void => {
  let at = 0;
  while (at < html.length) {
    MARKUP.lastIndex = at;
    const open = MARKUP.exec(html)?.index;
    if (open === undefined) {
      onText(html.slice(at));
      return;
    }
    if (open > at) onText(html.slice(at, open));
    const isEnd = html[open + 1] === '/';
    NAME.lastIndex = open + (isEnd ? 2 : 1);
    const found = NAME.exec(html)?.[0];
    if (found === undefined) {
      at = afterMarkup(html, open);
      continue;
    }
    const name = found.slice(0, MAX_NAME).toLowerCase();
    const from = open + (isEnd ? 2 : 1) + found.length;
    const end = tagEnd(html, from);
    if (end < 0) return;
    at = end + 1;
    if (!isEnd && RAW.has(name)) {
      const rawStart = at;
      at = rawEnd(html, at, name);
      if (name === 'style') onStyle(html.slice(rawStart, at));
      continue;
    }
    onTag({ name, isEnd, attributes: html.slice(from, end) });
  }
};

const ATTRIBUTE = /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/g;
const MAX_ATTRIBUTES = 50;
const MAX_ATTRIBUTE_TEXT = 20_000;

/** Returns the attributes of a tag, with their names in lower case. Entities in them are not decoded. */
export const attributesIn = (text: string): ReadonlyMap<string, string> => {
  const attributes = new Map<string, string>();
  if (text.trim() === '') return attributes;
  for (const [, name, double, single, bare] of text.slice(0, MAX_ATTRIBUTE_TEXT).matchAll(ATTRIBUTE)) {
    const lower = name!.toLowerCase();
    if (!attributes.has(lower)) attributes.set(lower, double ?? single ?? bare ?? '');
    if (attributes.size === MAX_ATTRIBUTES) break;
  }
  return attributes;
};
