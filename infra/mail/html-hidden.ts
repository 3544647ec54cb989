const squeezed = (css: string): string => css.toLowerCase().replace(/\s+|!important/g, '');

const HIDDEN =
  /(?:^|;)(?:display:none|visibility:(?:hidden|collapse)|opacity:0?(?:\.0+)?(?:;|$)|font-size:0(?:\.0+)?(?:px|pt|em|rem|%)?(?:;|$))/;
const NO_HEIGHT = /(?:^|;)(?:max-)?height:0(?:px|pt|em)?(?:;|$)/;

/** Returns whether a style hides an element, as those of preheaders do. */
export const hidesElement = (style: string): boolean => {
  const css = squeezed(style);
  return HIDDEN.test(css) || (NO_HEIGHT.test(css) && css.includes('overflow:hidden'));
};

const SIMPLE_SELECTOR = /^[a-z0-9]*(?:[.#][\w-]+)$/i;
const MAX_CSS = 200_000;

/** Returns the classes and ids that a style sheet hides on every screen, such as `.preheader`; element names are left out. */
export const hiddenSelectors = (css: string): string[] => {
  const hidden: string[] = [];
  let depth = 0;
  for (const chunk of css.slice(0, MAX_CSS).replaceAll('<!--', '').replaceAll('-->', '').split('}')) {
    const [selectors = '', declarations = '', inner] = chunk.split('{');
    if (!chunk.includes('{')) depth = Math.max(0, depth - 1);
    // A rule within `@media` may not apply.
    else if (inner !== undefined) depth++;
    else if (depth === 0 && hidesElement(declarations))
      hidden.push(
        ...selectors
          .split(',')
          .map((one) => one.trim())
          .filter((one) => SIMPLE_SELECTOR.test(one)),
      );
  }
  return hidden.map((one) => one.replace(/^[a-z0-9]*/i, ''));
};
