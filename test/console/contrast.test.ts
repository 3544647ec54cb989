import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { colourOf, contrastOf } from '../fixtures/contrast.ts';

// The colours of the console are tokens, so contrast is a property of the style sheets: any text token can be on any
// background token. The checks of whole pages in a browser leave contrast out.

const MIN_CONTRAST = 4.5;
const SCHEMES = ['light', 'dark'] as const;
const style = join(import.meta.dirname, '../../api/console/style');
const sheets = globSync('*.css', { cwd: style }).map((file) => ({
  file,
  text: readFileSync(join(style, file), 'utf8').replaceAll(/\/\*.*?\*\//gs, ''),
}));

/** The two colours of each token: in light and in dark mode. */
const tokens = new Map(
  [
    ...sheets.find(({ file }) => file === 'tokens.css')!.text.matchAll(/--([\w-]+): light-dark\((oklch\([^)]*\)), (oklch\([^)]*\))\);/g),
  ].map(([, name, light, dark]) => [name!, { light: light!, dark: dark! }] as const),
);

const WHITE = 'oklch(100% 0 0)';
/** Backgrounds of white text. They have no other text. */
const FILLS = ['accent-fill', 'accent-fill-hover'];
/** The colour of lines and of signs without a meaning of their own, such as the dash for a missing permission. */
const GRAPHIC = 'line-strong';
/** Backgrounds through which something else is seen: a bar over blurred contents, a selected period, and backdrops. */
const TRANSLUCENT = [
  'color-mix(in oklch, var(--canvas) 88%, transparent)',
  'color-mix(in oklch, var(--accent) 18%, transparent)',
  'oklch(0% 0 0 / 0.35)',
  'oklch(0% 0 0 / 35%)',
];
const SELECTION = 'light-dark(oklch(86% 0.08 275), oklch(42% 0.12 275))';
const valuesOf = (property: string): ReadonlySet<string> =>
  new Set(sheets.flatMap(({ text }) => [...text.matchAll(new RegExp(`[\\s{;]${property}:\\s*([^;]+);`, 'g'))].map(([, value]) => value!)));

const tokenOf = (value: string): string | undefined => /^var\(--([\w-]+)\)$/.exec(value)?.[1];
const tokensIn = (values: ReadonlySet<string>): readonly string[] => [...values].flatMap((value) => tokenOf(value) ?? []);

const texts = tokensIn(valuesOf('color')).filter((name) => name !== GRAPHIC);
/** A background in the colour of a text or of a line is a mark, such as a dot, and contains no text. */
const backgrounds = tokensIn(valuesOf('background(?:-color)?')).filter(
  (name) => !texts.includes(name) && !FILLS.includes(name) && name !== GRAPHIC,
);

const colour = (name: string, scheme: (typeof SCHEMES)[number]) => colourOf(tokens.get(name)![scheme]);

test('the ratio of colours is that of WCAG: on white, 21 for black, 4.54 for #767676, and 8.59 for blue', () => {
  assert.is(contrastOf(colourOf('oklch(0% 0 0)'), colourOf(WHITE)).toFixed(1), '21.0');
  assert.is(contrastOf(colourOf('oklch(56.59% 0 0)'), colourOf(WHITE)).toFixed(2), '4.54');
  assert.is(contrastOf(colourOf('oklch(45.2% 0.3132 264.05)'), colourOf(WHITE)).toFixed(2), '8.59');
});

test('style sheets set the colours of texts and backgrounds with tokens that have a light and a dark colour', () => {
  const known = [WHITE, 'inherit', 'none', 'transparent', SELECTION, ...TRANSLUCENT];
  const used = [...valuesOf('color'), ...valuesOf('background(?:-color)?')].filter((value) => !known.includes(value));
  assert.equal(
    used.filter((value) => !tokens.has(tokenOf(value) ?? '')),
    [],
  );
  assert.ok(texts.length >= 8 && backgrounds.length >= 11, `${texts.length} and ${backgrounds.length}`);
});

for (const scheme of SCHEMES)
  test(`in ${scheme} colours, each text on each background has the contrast that WCAG demands`, () => {
    const pairs = texts.flatMap((text) => backgrounds.map((background) => [text, background] as const));
    const weak = pairs.flatMap(([text, background]) => {
      const contrast = contrastOf(colour(text, scheme), colour(background, scheme));
      return contrast < MIN_CONTRAST ? [`${text} on ${background}: ${contrast.toFixed(2)}`] : [];
    });
    for (const fill of FILLS) {
      const contrast = contrastOf(colourOf(WHITE), colour(fill, scheme));
      if (contrast < MIN_CONTRAST) weak.push(`white on ${fill}: ${contrast.toFixed(2)}`);
    }
    assert.equal(weak, []);
  });

test('white text has the background of a filled button or mark in the same rule', () => {
  const rules = sheets.flatMap(({ text }) => [...text.matchAll(/\{([^{}]*)/g)].map(([, declarations]) => declarations!));
  const white = rules.filter((declarations) => declarations.includes(`color: ${WHITE};`));
  assert.is(white.length, 2);
  for (const declarations of white) assert.match(declarations, 'background: var(--accent-fill);');
});

test('no text is translucent: only an icon between two links is', () => {
  const pale = sheets.flatMap(({ file, text }) => [...text.matchAll(/[\s{;]opacity:\s*(?:0?\.\d+|\d+%);/g)].map(() => file));
  assert.equal(pale, ['frame.css']);
});

test.run();
