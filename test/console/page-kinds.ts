import type { PageUrl } from './page-urls.ts';

/** Elements that have no end tag. */
const VOID = /^(?:area|base|br|col|hr|img|input|link|meta|source|use|path|line|rect|circle)$/;
const TAG = /<(\/?)([a-z][\w-]*)((?:\s+[^\s=>"]+(?:="[^"]*")?)*)\s*(\/?)>/g;
const ATTRIBUTE = /\s([^\s=>"]+)(?:="([^"]*)")?/g;
/** The attributes whose values decide how an element looks or what it is for assistive technology. */
const DECIDING = /^(?:class|role|type|data-state|aria-current|aria-pressed)$/;

const kindOf = (name: string, attributes: string): string => {
  const found = [...attributes.matchAll(ATTRIBUTE)].map(([, key, value = '']) => (DECIDING.test(key!) ? `${key}=${value}` : key!));
  return [name, ...found.sort()].join(' ');
};

/**
 * Returns the kinds of elements in a page: what an element is, with the names of its attributes, within what. Two pages
 * of the same template consist of the same kinds.
 */
export const elementKinds = (html: string): ReadonlySet<string> => {
  const kinds = new Set<string>();
  const open: { name: string; kind: string }[] = [];
  for (const [, end, name = '', attributes = '', isClosed] of html.slice(html.indexOf('<body')).matchAll(TAG)) {
    if (end) {
      const at = open.findLastIndex((each) => each.name === name);
      if (at >= 0) open.splice(at);
      continue;
    }
    const kind = kindOf(name, attributes);
    kinds.add(`${open.at(-1)?.kind ?? ''} > ${kind}`);
    if (!isClosed && !VOID.test(name)) open.push({ name, kind });
  }
  return kinds;
};

export type Walked = PageUrl & { readonly html: string };

/** Returns pages that together contain every kind of element of all these pages. */
export const oneOfEachKind = (pages: readonly Walked[]): readonly Walked[] => {
  const left = pages.map((page) => ({ page, kinds: new Set(elementKinds(page.html)) }));
  const chosen: Walked[] = [];
  for (;;) {
    const richest = left.reduce((best, each) => (each.kinds.size > best.kinds.size ? each : best));
    if (richest.kinds.size === 0) return chosen;
    chosen.push(richest.page);
    const covered = [...richest.kinds];
    for (const { kinds } of left) for (const kind of covered) kinds.delete(kind);
  }
};
