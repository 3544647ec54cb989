import type { JSX } from 'hono/jsx';

/** The key of the HTML of a node. It is a symbol, so that no value from outside, such as JSON, can be a node. */
const HTML: unique symbol = Symbol('html');
const ATTRIBUTE: unique symbol = Symbol('attribute');

/** A rendered element. */
export type Node = { readonly [HTML]: string };
/** The content of an element. Null, undefined and booleans render nothing. */
export type Child = string | number | boolean | null | undefined | Node | readonly Child[];
/** The URL of an asset, for an attribute. The console's assets have different URLs in each version. */
type AssetUrl = { readonly [ATTRIBUTE]: string };
/** A time, as the content of an element or as the value of an attribute. It is shown in the visitor's time zone. */
export type TimeText = Node & { readonly [ATTRIBUTE]: string };

type Elements = JSX.IntrinsicElements;
/** The attributes of an element. One whose value is null is left out. */
type AttributesOf<Element> = { readonly [Name in keyof Element]: Element[Name] | AssetUrl | null };
type Tag<Name extends keyof Elements> = (attributes?: AttributesOf<Elements[Name]> | null, ...children: Child[]) => Node;
type Attributes = Readonly<Record<string, unknown>>;

/**
 * Matches invisible characters, and characters that change the direction of text. They can make a text look like
 * another text.
 */
const INVISIBLE = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Matches all that `visible` or `escaped` might replace. Most texts have no match, so they need no other check. */
const UNUSUAL = /[^\t\n !#-%(-;=?-~]/;
/**
 * Matches the characters that HTML must not contain as they are, and those that would make its source misleading. NUL
 * and U+0080 to U+009F are not among them, because browsers read references to them as other characters.
 */
const SPECIAL = /[&<>"']|(?![\0\t\n\x80-\x9f])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const codeOf = (character: string): string => character.codePointAt(0)!.toString(16).toUpperCase();

/** Replaces these characters by their code points, such as ⟦U+202E⟧. */
export const visible = (text: string): string => text.replace(INVISIBLE, (character) => `⟦U+${codeOf(character).padStart(4, '0')}⟧`);

const escaped = (text: string): string =>
  UNUSUAL.test(text) ? text.replace(SPECIAL, (character) => ESCAPES[character] ?? `&#x${codeOf(character)};`) : text;

const escapedVisible = (text: string): string => (UNUSUAL.test(text) ? escaped(visible(text)) : text);

/** Stands for the path below which the assets are served. No text can contain it, because `<` is escaped in texts. */
const ASSETS = '<assets>';

/** Returns the URL of an asset by the name of its file. A fragment can follow the name. */
export const assetUrl = (file: string): AssetUrl => ({ [ATTRIBUTE]: `${ASSETS}/${escaped(file)}` });

/** Stands for a time whose format is known, but not the time zone. */
const TIME = /<at (\w+) ([^>]*)>/g;

/** Returns a time that is formatted when the page is complete. `at` is an RFC 3339 time. */
export const timeText = (format: string, at: string): TimeText => {
  const html = `<at ${format} ${escaped(at)}>`;
  return { [HTML]: html, [ATTRIBUTE]: html };
};

/**
 * Returns the HTML of a node. `assets` is the path below which the assets are served. `formatTime` formats the times; by
 * default, they stay as they are.
 */
export const htmlOf = (node: Node, assets: string, formatTime = (_format: string, at: string): string => at): string =>
  node[HTML].replaceAll(ASSETS, escaped(assets)).replace(TIME, (_, format: string, at: string) => escaped(formatTime(format, at)));

/** Returns the length of the HTML of a node. Afterwards, the HTML is one piece in memory, and takes only this much. */
export const lengthOf = (node: Node): number => {
  // A text that was put together from parts keeps them all until a character of it is read.
  node[HTML].charCodeAt(0);
  return node[HTML].length;
};

const VOID = new Set(['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'source', 'track', 'wbr']);
const NAME = /^[a-z][a-z0-9:-]*$/i;
const names = new Map<string, string>();

/** Returns the start of an attribute. @throws Error if the name is not that of an attribute */
const attributeStart = (name: string): string => {
  const known = names.get(name);
  if (known !== undefined) return known;
  if (!NAME.test(name)) throw new Error(`"${name}" cannot be the name of an attribute`);
  names.set(name, ` ${name}="`);
  return ` ${name}="`;
};

/** The attributes whose texts browsers show or read out. */
const isShown = (name: string): boolean => name === 'title' || name === 'aria-label' || name === 'alt' || name === 'placeholder';

const attributeText = (name: string, value: unknown): string => {
  if (value === null || value === undefined) return '';
  const start = attributeStart(name);
  if (typeof value === 'string') return `${start}${isShown(name) ? escapedVisible(value) : escaped(value)}"`;
  // The values of these attributes are the words true and false. Other attributes are set by their presence.
  if (typeof value === 'boolean' && !/^(aria-|data-|draggable$|spellcheck$)/.test(name)) return value ? `${start}"` : '';
  if (typeof value === 'object' && ATTRIBUTE in value) return `${start}${(value as AssetUrl)[ATTRIBUTE]}"`;
  return `${start}${escaped(String(value))}"`;
};

const childText = (child: Child, ofText: (text: string) => string): string => {
  if (typeof child === 'string') return ofText(child);
  if (typeof child === 'number') return String(child);
  if (typeof child !== 'object' || child === null) return '';
  return HTML in child ? child[HTML] : childrenText(child, ofText);
};

const childrenText = (children: readonly Child[], ofText: (text: string) => string): string => {
  let html = '';
  for (const child of children) html += childText(child, ofText);
  return html;
};

/**
 * Renders an element, for example a custom one or one of SVG. Texts and attribute values are always escaped. Invisible
 * characters are shown, except in a textarea, whose text a form sends back.
 */
export const element = (name: string, attributes: Attributes | null, ...children: Child[]): Node => {
  let html = `<${name}`;
  for (const key in attributes) html += attributeText(key, attributes[key]);
  if (VOID.has(name)) return { [HTML]: `${html}/>` };
  return { [HTML]: `${html}>${childrenText(children, name === 'textarea' ? escaped : escapedVisible)}</${name}>` };
};

/**
 * The HTML elements as functions, for example `tr({ 'data-id': id }, td(null, name))`. Texts and attribute values are
 * always escaped.
 */
export const tags = new Proxy(
  {},
  {
    get:
      (_, name: string) =>
      (attributes: Attributes | null = null, ...children: Child[]) =>
        element(name, attributes, ...children),
  },
) as { readonly [Name in keyof Elements & string]: Tag<Name> };
