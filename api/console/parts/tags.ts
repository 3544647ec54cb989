import { type Child, type JSX, type JSXNode, jsx } from 'hono/jsx';

export type { Child };
/** A rendered element, or nothing. */
export type Node = JSXNode | string | null;

type Elements = JSX.IntrinsicElements;
type Tag<Name extends keyof Elements> = (attributes?: Elements[Name] | null, ...children: Child[]) => JSXNode;

/**
 * Matches invisible characters, and characters that change the direction of text. They can make a text look like
 * another text.
 */
const INVISIBLE = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Replaces these characters by their code points, such as ⟦U+202E⟧. */
export const visible = (text: string): string =>
  text.replace(INVISIBLE, (character) => `⟦U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟧`);

const visibleChild = (child: Child): Child => (typeof child === 'string' ? visible(child) : child);

/**
 * The HTML elements as functions, for example `tr({ 'data-id': id }, td(null, name))`. Texts and attribute values are
 * always escaped.
 */
export const tags = new Proxy(
  {},
  {
    get:
      (_, name: string) =>
      (attributes: Record<string, unknown> | null = null, ...children: Child[]) =>
        jsx(name, attributes, ...children.map(visibleChild)),
  },
) as { readonly [Name in keyof Elements & string]: Tag<Name> };
