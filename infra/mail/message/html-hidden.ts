const squeezed = (css: string): string => css.toLowerCase().replace(/\s+|!important/g, '');

const HIDDEN = /(?:^|;)(?:display:none|opacity:0?(?:\.0+)?(?:;|$))/;
const NO_HEIGHT = /(?:^|;)(?:max-)?height:0(?:px|pt|em)?(?:;|$)/;
const NO_SIZE = /^0(?:\.0+)?(?:px|pt|em|rem|%)?$/;
/** Sizes that are computed from the inherited one. */
const RELATIVE_SIZE = /^(?:[\d.]+(?:em|%)|larger|smaller|inherit|unset)$/;
const SIZE_IN_FONT = /^[a-z-]*([\d.]+(?:px|pt|em|rem|%)?)/;

/** `isHidden` hides the element with all in it. The others are inherited unless an inner element has a value; undefined if not set. */
export type Hiding = { readonly isHidden: boolean; readonly isInvisible: boolean | undefined; readonly hasNoSize: boolean | undefined };

const lastValue = (css: string, property: string): string | undefined =>
  css
    .split(';')
    .findLast((one) => one.startsWith(`${property}:`))
    ?.slice(property.length + 1);

const hasNoSize = (css: string): boolean | undefined => {
  const size = lastValue(css, 'font-size') ?? SIZE_IN_FONT.exec(lastValue(css, 'font') ?? '')?.[1];
  return size === undefined || RELATIVE_SIZE.test(size) ? undefined : NO_SIZE.test(size);
};

const isInvisible = (css: string): boolean | undefined => {
  const visibility = lastValue(css, 'visibility');
  return visibility === undefined || visibility === 'inherit' ? undefined : visibility !== 'visible';
};

export const hidingOf = (style: string): Hiding => {
  const css = squeezed(style);
  const isHidden = HIDDEN.test(css) || (NO_HEIGHT.test(css) && css.includes('overflow:hidden'));
  return { isHidden, isInvisible: isInvisible(css), hasNoSize: hasNoSize(css) };
};

const SIMPLE_SELECTOR = /^[a-z0-9]*(?:[.#][\w-]+)$/i;
/** Matches the last class, id or element name of a selector. */
const LAST_NAME = /(?:[.#][\w-]+|(?:^|(?<=[\s>+~]))[a-z][a-z0-9]*)(?=(?::[\w-]+)*$)/i;
const MAX_CSS = 200_000;

/** Lists classes, ids and element names: hidden on every screen, as `.preheader`, invisible, without a size, or with one. */
export type SheetRules = Readonly<Record<'hidden' | 'invisible' | 'noSize' | 'sized', readonly string[]>>;

const withoutElement = (selector: string): string => selector.replace(/^[a-z0-9]*/i, '');

export const rulesIn = (css: string): SheetRules => {
  const rules = { hidden: [] as string[], invisible: [] as string[], noSize: [] as string[], sized: [] as string[] };
  let depth = 0;
  for (const chunk of css.slice(0, MAX_CSS).replaceAll('<!--', '').replaceAll('-->', '').split('}')) {
    const parts = chunk.split('{');
    const [declarations = '', rule = ''] = parts.toReversed();
    if (parts.length === 1) {
      depth = Math.max(0, depth - 1);
      continue;
    }
    const hiding = hidingOf(declarations);
    const selectors = rule.split(',').map((one) => one.trim());
    if (hiding.hasNoSize === false) rules.sized.push(...selectors.map((one) => LAST_NAME.exec(one)?.[0].toLowerCase() ?? ''));
    // A rule within `@media` may not apply.
    if (parts.length > 2) depth++;
    else if (depth === 0) {
      const own = selectors.filter((one) => SIMPLE_SELECTOR.test(one)).map(withoutElement);
      if (hiding.isHidden) rules.hidden.push(...own);
      if (hiding.isInvisible) rules.invisible.push(...own);
      if (hiding.hasNoSize) rules.noSize.push(...own);
    }
  }
  return rules;
};
