import { test } from 'uvu';
import { equal, is, not } from 'uvu/assert';
import { choosePlaces, placesIn, textWith } from './places.ts';

const SOURCE = `import { other } from './other-1.ts';

type Level = 1 | 2;
export const MAX = 5; // at most 7 === 7
const Schema = z.string().max(MAX).meta({ maximum: 9, required: true });

export const check = (value: Level, text?: string): number => {
  if (value >= MAX && text?.length !== 3) throw new Error('too many === 1');
  return text === 'none' ? value + 1 : (text ?? 'some').length;
};

const isOff = (flags: { on: boolean }) => !flags.on || other({ on: true });
`;

const places = placesIn('domain/check.ts', SOURCE);

const changesIn = (scope: string): string[] => places.filter((place) => place.scope === scope).map(({ from, to }) => `${from} → ${to}`);

test('a mutant changes an operator, a condition, a constant, a throw, or what is done about absent values', () =>
  equal(changesIn('check'), [
    'value >= MAX && text?.length !== 3 → true',
    'value >= MAX && text?.length !== 3 → false',
    '&& → ||',
    '>= → >',
    '!== → ===',
    '?. → !.',
    '3 → 4',
    "throw new Error('too many === 1'); → ;",
    "text === 'none' → true",
    "text === 'none' → false",
    '=== → !==',
    "'none' → ''",
    '+ → -',
    '1 → 2',
    " ?? 'some' → !",
  ]));

test('a mutant removes a negation and inverts a truth value', () =>
  equal(changesIn('isOff'), ['|| → &&', '!flags.on → flags.on', 'true → false']));

test('types, imports, comments and documentation of schemas are never changed', () => {
  equal(changesIn('MAX'), ['5 → 6']);
  equal(changesIn('Schema'), []);
  equal(changesIn(''), []);
});

for (const place of places)
  test(`the change '${place.from} → ${place.to}' in ${place.scope} alters only this text`, () => {
    const changed = textWith(SOURCE, [place]);
    is(changed, SOURCE.slice(0, place.start) + place.to + SOURCE.slice(place.start + place.from.length));
    not.equal(changed, SOURCE);
  });

test('several changes of one text do not disturb each other', () => {
  const [max] = places;
  const last = places.at(-1)!;
  is(textWith(SOURCE, [max!, last]), SOURCE.replace('MAX = 5', 'MAX = 6').replace('on: true', 'on: false'));
});

test('a change keeps the number of lines', () => {
  const [whole] = placesIn('a.ts', 'if (a &&\n  b) c();\n');
  is(textWith('if (a &&\n  b) c();\n', [whole!]), 'if (true\n) c();\n');
});

test('the same seed chooses the same places, another seed chooses others', () => {
  const ids = (seed: number) => choosePlaces(placesIn('domain/check.ts', SOURCE), seed, 6).map(({ id }) => id);
  equal(ids(7), ids(7));
  not.equal(ids(7), ids(8));
  is(new Set(ids(7)).size, 6);
});

test('the choice of places stays the same when other lines are inserted or other files change', () => {
  const moved = placesIn('domain/check.ts', `const unrelated = 'text';\n\n${SOURCE}`);
  equal(
    choosePlaces(moved, 7, 6).map(({ id }) => id),
    choosePlaces(places, 7, 6).map(({ id }) => id),
  );
});

test('two equal changes in one line have different ids', () => {
  const ids = placesIn('a.ts', 'const f = (a, b, c) => a && b && c;').map(({ id }) => id);
  is(new Set(ids).size, 2);
});

test('a place names the function whose calls reach it', () => {
  const text = 'const f = (a) => (b) => a + b;\nconst MAX = 1 * 2;';
  const [plus, times] = placesIn('a.ts', text);
  is(text.slice(...plus!.calledIn!), ' (b) => a + b');
  is(times!.calledIn, undefined);
});

test.run();
